//! From the blocks of a part to the matches in them.

use std::ops::{ControlFlow, Range};

use crate::codec::{Located, Scratch, Target};
use crate::index::batch::gather::{Finds, Found};
use crate::index::batch::probe::items::{Item, Items};
use crate::index::batch::probe::look::Look;
use crate::index::batch::probe::search::{self, Search};
use crate::index::batch::question::Stop;
use crate::table::scanner::Scanner;
use hamdex_fingerprint::Fingerprint;

/// Blocks with few queries that are left to the scanner together.
const SPARSE_BATCH: usize = 4096;

/// Queries and entries of decoded blocks between two looks at whether to go on.
const SEARCHED_AT_ONCE: usize = 1 << 18;

/// Visits parts, using the same memory again and again.
pub(super) struct Visitor<F> {
    /// The items of the part in the order of its blocks, and where those of each block start.
    items: Vec<Item<F>>,
    starts: Vec<u32>,
    /// A decoded block.
    values: Vec<F>,
    scratch: Scratch<F>,
    searching: search::Scratch,
    sparse: Sparse<F>,
}

/// Blocks in which too few queries meet for decoding them to pay.
struct Sparse<F> {
    scanner: Scanner<F>,
    located: Vec<Located>,
    targets: Vec<Target<F>>,
    queries: Vec<u32>,
}

impl<F> Default for Visitor<F> {
    fn default() -> Self {
        let sparse = Sparse {
            scanner: Scanner::default(),
            located: Vec::new(),
            targets: Vec::new(),
            queries: Vec::new(),
        };
        Self {
            items: Vec::new(),
            starts: Vec::new(),
            values: Vec::new(),
            scratch: Scratch::default(),
            searching: search::Scratch::default(),
            sparse,
        }
    }
}

impl<F: Fingerprint> Visitor<F> {
    /// Visits the blocks of a part in order, each once.
    pub(super) fn visit(
        &mut self,
        look: &Look<'_, F>,
        items: &[Items<F>],
        blocks: Range<usize>,
        part: usize,
        finds: &mut Finds<'_, F>,
    ) -> Result<(), Stop> {
        self.put_in_order(items, &blocks, part);
        let Self { items, starts, values, scratch, searching, sparse } = self;
        sparse.read_ahead(look, &blocks, starts);
        let mut searched = 0;
        for (place, block) in blocks.enumerate() {
            let items = &items[starts[place] as usize..starts[place + 1] as usize];
            if items.is_empty() {
                continue;
            }
            if items.len() >= look.dense_from {
                values.clear();
                look.table.decode(look.file, block, scratch, values)?;
                let search = Search {
                    values,
                    queries: items.len(),
                    target: |place: usize| look.target(items[place].value),
                    scratch: searching,
                    visit: |place: usize, value| {
                        let Item { query, value: permuted, .. } = items[place];
                        found(look, query, permuted, value, finds)
                    },
                };
                if search.run().is_break() {
                    return Err(Stop::Full);
                }
                searched += items.len() + values.len();
                if searched >= SEARCHED_AT_ONCE {
                    look.done.check()?;
                    searched = 0;
                }
            } else {
                items.iter().for_each(|item| sparse.push(look, item));
                if sparse.located.len() >= SPARSE_BATCH {
                    sparse.scan(look, finds)?;
                }
            }
        }
        sparse.scan(look, finds)
    }

    /// Sorts the items of the part by block, by counting.
    fn put_in_order(&mut self, items: &[Items<F>], blocks: &Range<usize>, part: usize) {
        let Self { items: ordered, starts, .. } = self;
        starts.clear();
        starts.resize(blocks.len() + 2, 0);
        // Counted two further on: while items find their places, each start moves on to the next one.
        for item in items.iter().flat_map(|items| items.of_part(part)) {
            starts[item.block as usize - blocks.start + 2] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let count = starts[blocks.len() + 1] as usize;
        if ordered.len() < count {
            ordered.resize(count, Item::default());
        }
        for item in items.iter().flat_map(|items| items.of_part(part)) {
            let next = &mut starts[item.block as usize - blocks.start + 1];
            ordered[*next as usize] = *item;
            *next += 1;
        }
    }
}

/// A stored value within the distance of a query, both permuted.
#[inline]
fn found<F: Fingerprint>(
    look: &Look<'_, F>,
    query: u32,
    permuted: F,
    value: F,
    finds: &mut Finds<'_, F>,
) -> ControlFlow<()> {
    let difference = look.permutation().undo(value ^ permuted);
    if !look.owns(difference) {
        return ControlFlow::Continue(());
    }
    let fingerprint = look.permutation().undo(value);
    finds.push(Found { query, distance: difference.count_ones(), fingerprint })
}

impl<F: Fingerprint> Sparse<F> {
    /// Reads ahead all of the blocks that have items.
    fn read_ahead(&mut self, look: &Look<'_, F>, blocks: &Range<usize>, starts: &[u32]) {
        let wanted = blocks.clone().zip(starts.windows(2)).filter(|(_, ends)| ends[0] < ends[1]);
        let table = look.table.number as u32;
        self.located.extend(wanted.map(|(block, _)| Located { table, block: block as u32, target: 0 }));
        (look.read_ahead)(&self.located);
        self.located.clear();
    }

    fn push(&mut self, look: &Look<'_, F>, item: &Item<F>) {
        self.located.push(Located {
            table: look.table.number as u32,
            block: item.block,
            target: self.targets.len() as u32,
        });
        self.targets.push(look.target(item.value));
        self.queries.push(item.query);
    }

    /// Scans what has been pushed.
    fn scan(&mut self, look: &Look<'_, F>, finds: &mut Finds<'_, F>) -> Result<(), Stop> {
        let Self { scanner, located, targets, queries } = self;
        look.done.check()?;
        let outcome = scanner.scan(look.tables, look.file, located, targets, |at, _, value| {
            let target = at.target as usize;
            found(look, queries[target], targets[target].query, value, finds)
        });
        located.clear();
        targets.clear();
        queries.clear();
        if outcome?.is_break() { Err(Stop::Full) } else { Ok(()) }
    }
}
