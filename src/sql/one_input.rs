//! What nodes of physical plans that have one input say alike: macros, because the trait is the engine's.

/// Methods of an `ExecutionPlan` with one input. Its own `over` makes the same node over another input.
macro_rules! one_input {
    () => {
        fn replace_children(
            self: ::std::sync::Arc<Self>,
            mut children: Vec<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
            _options: ::datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> ::datafusion::common::Result<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            match (children.pop(), children.is_empty()) {
                (Some(input), true) => Ok(::std::sync::Arc::new(self.over(input)?)),
                _ => ::datafusion::common::internal_err!("{} has one input", self.name()),
            }
        }

        /// The trait asks for it still.
        fn with_new_children(
            self: ::std::sync::Arc<Self>,
            children: Vec<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
        ) -> ::datafusion::common::Result<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            use ::datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
            self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
    };
}

/// The method of an `ExecutionPlan` that computes nothing by expressions.
macro_rules! no_expressions {
    () => {
        fn apply_expressions(
            &self,
            _f: &mut dyn FnMut(
                &::std::sync::Arc<dyn ::datafusion::physical_expr::PhysicalExpr>,
            ) -> ::datafusion::common::Result<::datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> ::datafusion::common::Result<::datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(::datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}

pub(crate) use {no_expressions, one_input};
