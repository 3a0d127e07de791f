//! From the rows of a span to the files of its segments.

use std::sync::Arc;
use std::time::Instant;

use fjall::Guard;
use tablegate_store::table::StoreError;

use super::super::super::key_bytes::ByteSpan;
use super::super::super::meta::TableMeta;
use super::super::super::reader::View;
use super::super::write::{Draft, columns_of};
use super::super::{Segment, folder};
use super::{ROWS_AT_ONCE, Worker};

const BYTES_AT_ONCE: usize = 4 << 20;

impl Worker {
    /// The segments' files, complete. Where they take the place of one, all of the span is theirs; otherwise there is one,
    /// of what is up to its last row: what comes behind it is left for another view, for what is written meanwhile stays in
    /// memory as long as a view from before is there.
    pub(super) fn write(
        &self,
        view: &View,
        table: &TableMeta,
        span: &ByteSpan,
        removed: Option<&Arc<Segment>>,
    ) -> Result<Vec<Arc<Segment>>, StoreError> {
        let mut made = Vec::new();
        if let Err(error) = self.write_all(view, table, span, removed, &mut made) {
            made.iter().for_each(|segment| segment.condemn());
            return Err(error);
        }
        if self.workshop.sync && !made.is_empty() {
            folder::sync(&self.path)?;
        }
        Ok(made)
    }

    fn write_all(
        &self,
        view: &View,
        table: &TableMeta,
        span: &ByteSpan,
        removed: Option<&Arc<Segment>>,
        made: &mut Vec<Arc<Segment>>,
    ) -> Result<(), StoreError> {
        let options = &self.workshop.options;
        // With so many properties rows are all there is, also where there was a segment.
        let Some(columns) = columns_of(table) else { return Ok(()) };
        // One that has grown by a little stays one.
        let most_rows = |removed: &Arc<Segment>| removed.meta.rows.saturating_add(removed.dirty());
        let stays_one = removed.is_some_and(|removed| most_rows(removed) <= options.segment_rows / 2 * 3);
        let most = if stays_one { u64::MAX } else { options.segment_rows };
        let (mut from, mut last) = (span.from.clone(), span.from.clone());
        let mut rows = view.range(&*view.engine()?, span)?;
        let mut draft: Option<Draft> = None;
        let mut finish = |draft: Draft, from: &mut Vec<u8>, to: Vec<u8>| {
            let span = ByteSpan { from: std::mem::replace(from, to.clone()), to };
            let segment = draft.finish(span, view.commit, self.workshop.sync)?;
            made.push(Arc::new(segment));
            Ok::<_, StoreError>(())
        };
        let derived = self.workshop.derivations.of(&table.name);
        let new_draft = || Draft::new(&self.path, table, columns.clone(), &derived, options.batch_rows);
        loop {
            let began = Instant::now();
            let piece = self.read_some(view, &mut rows)?;
            if piece.is_empty() {
                break;
            }
            for (key, value) in &piece {
                if let Some(full) = draft.take_if(|draft| draft.rows() >= most) {
                    finish(full, &mut from, key.to_vec())?;
                    if removed.is_none() {
                        return Ok(());
                    }
                }
                let open = match &mut draft {
                    Some(open) => open,
                    None => draft.insert(new_draft()?),
                };
                open.push(table, key, value)?;
                last = key.to_vec();
            }
            self.shared.progress.add(&piece);
            if self.rests {
                std::thread::sleep(began.elapsed());
            }
        }
        let draft = match draft {
            // Nothing is left of what was there: that is worth knowing too.
            None if removed.is_some() && from == span.from => Some(new_draft()?),
            draft => draft,
        };
        let Some(draft) = draft else { return Ok(()) };
        let to = if removed.is_some() { span.to.clone() } else { [last.as_slice(), &[0]].concat() };
        finish(draft, &mut from, to)
    }

    fn read_some(&self, view: &View, rows: &mut fjall::Iter) -> Result<Vec<fjall::KvPair>, StoreError> {
        self.check_stopping()?;
        // What is kept in reserve is for rows.
        self.workshop.folder.check_room(self.workshop.reserve_bytes)?;
        let engine = view.engine()?;
        let (mut some, mut bytes) = (Vec::with_capacity(ROWS_AT_ONCE), 0);
        while some.len() < ROWS_AT_ONCE && bytes < BYTES_AT_ONCE {
            let next = engine.guarded(|| rows.next().map(Guard::into_inner).transpose())?;
            let Some((key, value)) = next else { break };
            bytes += value.len();
            some.push((key, value));
        }
        Ok(some)
    }
}
