//! Windows: the definitions that calls name or have of their own. PostgreSQL's `transformWindowDefinitions`.

use sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, Spanned, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec,
};
use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

use super::bound::{BoundWindow, Frame, FrameBound, FrameExclusion, FrameUnit, SortItem};
use super::level::{Level, NotedWindow, no_window};
use super::sort::Names;
use crate::binder::{Binder, is_mark};
use crate::catalogue::{CastContext, Oid, oids};
use crate::expr::BoundExpr;
use crate::name::folded;
use crate::place::{AtPlace, Place};
use crate::usage::Usage;

impl Level<'_> {
    /// The WINDOW clause, which calls may name before it is bound.
    pub(super) fn note_windows(&mut self, named: &[NamedWindowDefinition]) -> SqlResult<()> {
        for NamedWindowDefinition(ident, definition) in named {
            let NamedWindowExpr::WindowSpec(spec) = definition else {
                return Err(SqlError::new(ErrorKind::Syntax, "a window is defined in parentheses"));
            };
            let after = self.context.source.and_then(|source| source.next(Place::start(ident.span), "("));
            let place = after.unwrap_or(Place::NOWHERE);
            self.windows.push(NotedWindow { name: Some(folded(ident)), spec: spec.clone(), place });
        }
        Ok(())
    }

    /// # Errors
    /// 42P20 for definitions that do not fit each other.
    pub(super) fn bind_windows(&mut self) -> SqlResult<()> {
        for NotedWindow { name, mut spec, place } in std::mem::take(&mut self.windows) {
            let exclusion = exclusion_of(&mut spec);
            let inherits = spec.window_name.as_ref().map(folded);
            let place = if place.is_known() { place } else { self.before(inside_of(&spec), &["("]) };
            let refused = |message: String| SqlError::new(ErrorKind::Windowing, message).at_place(place);
            let known = |name: &String| self.query.windows.iter().find(|window| window.name.as_ref() == Some(name));
            let base = match &inherits {
                None => None,
                Some(inherited) => match known(inherited) {
                    Some(base) => Some(base.clone()),
                    None => return Err(no_window(inherited, place)),
                },
            };
            if let Some(name) = name.as_ref().filter(|name| known(name).is_some()) {
                return Err(refused(format!("window \"{name}\" is already defined")));
            }
            let order = self.sort_items(&spec.order_by, Usage::WindowOrder, Names::OfColumns)?;
            let partition = self.partition(&spec.partition_by)?;
            let is_bare = name.is_none() && spec.order_by.is_empty() && spec.window_frame.is_none();
            let window = inherited(base, (partition, order), &inherits, (place, is_bare))?;
            let window = BoundWindow { name, inherits, ..window };
            let frame = match &spec.window_frame {
                None => None,
                Some(frame) => Some(Frame { exclusion, ..self.frame(frame, &window, place)? }),
            };
            self.query.windows.push(BoundWindow { frame, ..window });
        }
        Ok(())
    }

    fn partition(&mut self, exprs: &[Expr]) -> SqlResult<Vec<usize>> {
        let mut partition = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let target = self.find_target(expr, Usage::WindowPartition, Names::OfColumns)?;
            self.type_target(target)?;
            self.check_told_apart(target, Place::start(expr.span()))?;
            if !partition.contains(&target) {
                partition.push(target);
            }
        }
        Ok(partition)
    }

    fn frame(&mut self, frame: &WindowFrame, window: &BoundWindow, place: Place) -> SqlResult<Frame> {
        let unit = match frame.units {
            WindowFrameUnits::Rows => FrameUnit::Rows,
            WindowFrameUnits::Range => FrameUnit::Range,
            WindowFrameUnits::Groups => FrameUnit::Groups,
        };
        let end = frame.end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow);
        self.check_bounds(frame, place)?;
        let has_offset = |bound: &WindowFrameBound| {
            matches!(bound, WindowFrameBound::Preceding(Some(_)) | WindowFrameBound::Following(Some(_)))
        };
        let refused = |message: &str| Err(SqlError::new(ErrorKind::Windowing, message).at_place(place));
        if unit == FrameUnit::Range && (has_offset(&frame.start_bound) || has_offset(end)) && window.order.len() != 1 {
            return refused("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
        }
        if unit == FrameUnit::Groups && window.order.is_empty() {
            return refused("GROUPS mode requires an ORDER BY clause");
        }
        let start = self.frame_bound(&frame.start_bound, unit, window)?;
        let end = self.frame_bound(end, unit, window)?;
        let is_between = frame.end_bound.is_some();
        Ok(Frame { unit, start, end, is_between, exclusion: FrameExclusion::NoOthers })
    }

    fn frame_bound(
        &mut self,
        bound: &WindowFrameBound,
        unit: FrameUnit,
        window: &BoundWindow,
    ) -> SqlResult<FrameBound> {
        Ok(match bound {
            WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            WindowFrameBound::Preceding(None) => FrameBound::UnboundedPreceding,
            WindowFrameBound::Following(None) => FrameBound::UnboundedFollowing,
            WindowFrameBound::Preceding(Some(offset)) => {
                FrameBound::Preceding(self.frame_offset(offset, unit, window)?)
            }
            WindowFrameBound::Following(Some(offset)) => {
                FrameBound::Following(self.frame_offset(offset, unit, window)?)
            }
        })
    }

    /// What the grammar refuses.
    fn check_bounds(&self, frame: &WindowFrame, definition: Place) -> SqlResult<()> {
        use WindowFrameBound::{CurrentRow, Following, Preceding};
        let has_end = frame.end_bound.is_some();
        let (message, is_end) = match (&frame.start_bound, frame.end_bound.as_ref().unwrap_or(&CurrentRow)) {
            (Following(None), _) => ("frame start cannot be UNBOUNDED FOLLOWING", false),
            (_, Preceding(None)) => ("frame end cannot be UNBOUNDED PRECEDING", true),
            (CurrentRow, Preceding(Some(_))) => ("frame starting from current row cannot have preceding rows", true),
            (Following(Some(_)), Preceding(Some(_))) => {
                ("frame starting from following row cannot have preceding rows", true)
            }
            (Following(Some(_)), CurrentRow) if has_end => {
                ("frame starting from following row cannot have preceding rows", true)
            }
            (Following(Some(_)), CurrentRow) => {
                ("frame starting from following row cannot end with current row", false)
            }
            _ => return Ok(()),
        };
        let place = self.place_of_bound(frame, definition, is_end);
        Err(SqlError::new(ErrorKind::Windowing, message).at_place(place.unwrap_or(Place::NOWHERE)))
    }

    /// Where a bound of a frame begins: behind ROWS, or behind BETWEEN and AND.
    fn place_of_bound(&self, frame: &WindowFrame, definition: Place, is_end: bool) -> Option<Place> {
        let source = self.context.source.filter(|_| definition.is_known())?;
        let unit = source.next(definition, &frame.units.to_string())?;
        let first = source.after(unit)?;
        match (&frame.end_bound, is_end) {
            (None, _) => Some(first),
            (Some(_), false) => source.after(first),
            (Some(_), true) => source.after(source.next(first, "AND")?),
        }
    }

    /// The parser takes a text for an interval.
    fn written_offset<'e>(&self, offset: &'e Expr) -> &'e Expr {
        match offset {
            Expr::Interval(interval) => {
                let place = Place::start(interval.value.span());
                let is_one = self.context.source.is_none_or(|source| source.follows(place, "INTERVAL"));
                if is_one { offset } else { &interval.value }
            }
            other => other,
        }
    }

    fn frame_offset(&mut self, offset: &Expr, unit: FrameUnit, window: &BoundWindow) -> SqlResult<BoundExpr> {
        let (usage, construct) = match unit {
            FrameUnit::Rows => (Usage::FrameRows, "ROWS"),
            FrameUnit::Range => (Usage::FrameRange, "RANGE"),
            FrameUnit::Groups => (Usage::FrameGroups, "GROUPS"),
        };
        let sorted = window.order.first().map(|item| self.query.targets[item.target].expr.ty.oid);
        let offset = self.written_offset(offset);
        let bound = self.binding(usage, |binder| {
            let bound = binder.bind(offset)?;
            let target = match (unit, sorted) {
                (FrameUnit::Range, Some(sorted)) => offset_type(binder, sorted, &bound)?,
                _ => oids::INT8,
            };
            binder.typing.coerce_to(bound, target, construct)
        })?;
        self.refuse_columns(&bound, construct)?;
        Ok(bound)
    }
}

/// What stands for EXCLUDE behind the keys of ORDER BY, which the parser does not read behind a frame.
pub const EXCLUSIONS: [(FrameExclusion, &str); 3] = [
    (FrameExclusion::CurrentRow, "exclude#current row"),
    (FrameExclusion::Group, "exclude#group"),
    (FrameExclusion::Ties, "exclude#ties"),
];

/// Takes it off again.
fn exclusion_of(spec: &mut WindowSpec) -> FrameExclusion {
    let named = spec.order_by.last().and_then(|key| match &key.expr {
        Expr::Identifier(ident) => EXCLUSIONS.iter().find(|(_, mark)| is_mark(ident, mark)),
        _ => None,
    });
    match named {
        Some((exclusion, _)) => {
            spec.order_by.pop();
            *exclusion
        }
        None => FrameExclusion::NoOthers,
    }
}

/// Where the first thing inside of a definition is.
fn inside_of(spec: &WindowSpec) -> Place {
    let name = spec.window_name.iter().map(|ident| Place::start(ident.span));
    let partition = spec.partition_by.iter().map(|expr| Place::start(expr.span()));
    let order = spec.order_by.iter().map(|key| Place::start(key.expr.span()));
    let frame = spec.window_frame.iter().flat_map(|frame| std::iter::once(&frame.start_bound).chain(&frame.end_bound));
    let offsets = frame.filter_map(|bound| match bound {
        WindowFrameBound::Preceding(Some(offset)) | WindowFrameBound::Following(Some(offset)) => {
            Some(Place::start(offset.span()))
        }
        _ => None,
    });
    name.chain(partition).chain(order).chain(offsets).next().unwrap_or(Place::NOWHERE)
}

/// What a window takes over from another one.
fn inherited(
    base: Option<BoundWindow>,
    (partition, order): (Vec<usize>, Vec<SortItem>),
    name: &Option<String>,
    (place, is_bare): (Place, bool),
) -> SqlResult<BoundWindow> {
    let own = BoundWindow { name: None, inherits: None, partition, order, frame: None };
    let (Some(base), Some(name)) = (base, name) else { return Ok(own) };
    let error = |message: String| SqlError::new(ErrorKind::Windowing, message).at_place(place);
    let refused = |message: String| Err(error(message));
    if !own.partition.is_empty() {
        return refused(format!("cannot override PARTITION BY clause of window \"{name}\""));
    }
    if !own.order.is_empty() && !base.order.is_empty() {
        return refused(format!("cannot override ORDER BY clause of window \"{name}\""));
    }
    if base.frame.is_some() {
        let error = error(format!("cannot copy window \"{name}\" because it has a frame clause"));
        return Err(if is_bare { error.with_hint("Omit the parentheses in this OVER clause.") } else { error });
    }
    let order = if own.order.is_empty() { base.order } else { own.order };
    Ok(BoundWindow { partition: base.partition, order, ..own })
}

/// The type of an offset from values of another type: PostgreSQL's `transformFrameOffset`.
fn offset_type(binder: &Binder<'_>, sorted: Oid, offset: &BoundExpr) -> SqlResult<Oid> {
    let lookup = binder.lookup;
    let offsets = lookup.range_offsets(sorted);
    let given = offset.ty.oid;
    let fitting: Vec<Oid> =
        offsets.iter().copied().filter(|oid| lookup.can_coerce_one(given, *oid, CastContext::Implicit)).collect();
    let column = lookup.type_name(lookup.sorted_as(sorted));
    let error = |message: String| SqlError::new(ErrorKind::FeatureNotSupported, message).at_place(offset.place);
    let with = || format!("column type {column} and offset type {}", lookup.type_name(given));
    match fitting.as_slice() {
        _ if offsets.is_empty() => {
            Err(error(format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {column}")))
        }
        [] => Err(error(format!("RANGE with offset PRECEDING/FOLLOWING is not supported for {}", with()))
            .with_hint("Cast the offset value to an appropriate type.")),
        [only] => Ok(*only),
        several if several.contains(&given) => Ok(given),
        several if given == oids::UNKNOWN && several.contains(&lookup.base(sorted)) => Ok(lookup.base(sorted)),
        _ => Err(error(format!("RANGE with offset PRECEDING/FOLLOWING has multiple interpretations for {}", with()))
            .with_hint("Cast the offset value to the exact intended type.")),
    }
}
