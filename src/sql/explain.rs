//! placeholder
use std::sync::Arc;
use datafusion::physical_plan::{ExecutionPlan, displayable};
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExplainFormat { #[default] Text, Json }
#[derive(Debug, Clone, Default)]
pub struct ExplainOptions { pub analyze: bool, pub verbose: bool, pub timing: bool, pub summary: bool, pub format: ExplainFormat }
pub fn render(_title: Option<&str>, plan: &Arc<dyn ExecutionPlan>, _options: &ExplainOptions) -> Vec<String> {
    displayable(plan.as_ref()).indent(false).to_string().lines().map(str::to_owned).collect()
}
