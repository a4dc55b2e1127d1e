//! Parts gathered by all threads, their results in order.

use crate::codec::Scratch;
use crate::error::{BuildError, ReadError};
use crate::merge::parts::{Part, Parts};
use crate::threads::map_in_order;
use hamdex_fingerprint::Fingerprint;

/// Calls `visit` with what `gather` makes of each part, in order. While some parts are visited, the ones behind
/// them are gathered.
pub(super) fn for_each_part<F: Fingerprint, T: Send>(
    mut parts: Parts<'_, F>,
    gather: impl Fn(&Part<F>, &mut Scratch<F>) -> Result<T, ReadError> + Sync + Send,
    mut visit: impl FnMut(T) -> Result<(), BuildError> + Send,
) -> Result<(), BuildError> {
    let at_once = 2 * rayon::current_num_threads();
    let mut gathered: Vec<T> = Vec::new();
    loop {
        let mut next = Vec::with_capacity(at_once);
        while next.len() < at_once
            && let Some(part) = parts.next()?
        {
            next.push(part);
        }
        if next.is_empty() && gathered.is_empty() {
            return Ok(());
        }
        let gather = || {
            map_in_order(next, Scratch::default, |scratch: &mut Scratch<F>, part: Part<F>| {
                gather(&part, scratch)
            })
        };
        let (next, visited) = rayon::join(gather, || gathered.into_iter().try_for_each(&mut visit));
        visited?;
        gathered = next?;
    }
}
