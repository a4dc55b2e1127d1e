//! The values of a run in buckets, by groups of bits.

use hamdex::{Fingerprint, Stopped, prefer_huge_pages, prefetch_value};

use crate::memtable::groups::{Group, MAX_GROUPS, owns};

/// Values between two calls of `pause`.
pub(super) const BETWEEN_PAUSES: usize = 1 << 15;

/// Values that are compared before any of them is visited.
const VALUES_AT_ONCE: usize = 8;

/// Values per bucket, as a multiple of those of evenly spread values, from which on values are not evenly spread.
const SKEW: f64 = 8.0;

/// Values of all buckets of a query up to which a search is fast enough in any case.
const FEW_VALUES: f64 = 512.0;

/// Maximum number of values in a bucket that is not divided again.
const MAX_BUCKET: usize = 1 << 11;

/// Maximum number of copies of a value, on average, in buckets that are divided again.
const MAX_DIVIDED_COPIES: usize = 8;

/// The starts of the buckets of a group, and the end.
pub(super) type Starts = Box<[u32]>;

/// For each group that a search reads, the range of values in the bucket of the query.
pub(super) type Buckets = [(u32, u32); MAX_GROUPS];

/// The buckets of the first bits of values, in natural order.
pub(super) type FirstBits<F> = (Group<F>, Starts);

/// Values in buckets, once for each of some groups of bits.
#[derive(Debug)]
pub(super) struct Tables<F> {
    groups: Box<[Group<F>]>,
    /// For each group.
    starts: Box<[Starts]>,
    /// For each group the values in the order of its buckets; not for the first if they are in natural order.
    values: Box<[Box<[F]>]>,
    is_first_natural: bool,
    /// Long buckets that are divided again, by group and start.
    divided: Box<[Divided<F>]>,
}

/// A bucket whose values are in buckets by other groups.
#[derive(Debug)]
struct Divided<F> {
    group: u32,
    start: u32,
    tables: Tables<F>,
}

impl<F: Fingerprint> Tables<F> {
    /// Puts ascending values into buckets for searches up to `distance`. `pause` is called at intervals, and may break.
    /// Returns also the buckets of the first bits of the values, if it does without them.
    pub(super) fn try_new<B>(
        values: &[F],
        distance: u32,
        pause: &mut dyn FnMut() -> Result<(), B>,
    ) -> Result<(Self, Option<FirstBits<F>>), B> {
        let groups = Group::adjacent(distance, values.len());
        let starts = counted(&groups, values, pause)?;
        if groups.len() <= distance as usize {
            return Ok((Self::filled(groups, starts, true, values, pause)?, None));
        }
        let even: usize = groups.iter().map(|group| values.len() / group.buckets() + 1).sum();
        let compared = compared(&starts, values.len());
        let is_skewed = compared > SKEW * even as f64 + FEW_VALUES;
        if is_skewed {
            let spread = Group::spread(distance, values);
            let spread_starts = counted(&spread, values, pause)?;
            if 2.0 * self::compared(&spread_starts, values.len()) < compared {
                let mut tables = Self::filled(spread, spread_starts, false, values, pause)?;
                tables.divide(distance, values, pause)?;
                let first = groups.into_iter().zip(starts).next();
                return Ok((tables, first));
            }
        }
        let mut tables = Self::filled(groups, starts, true, values, pause)?;
        if is_skewed {
            tables.divide(distance, values, pause)?;
        }
        Ok((tables, None))
    }

    fn filled<B>(
        groups: Vec<Group<F>>,
        starts: Vec<Starts>,
        is_first_natural: bool,
        values: &[F],
        pause: &mut dyn FnMut() -> Result<(), B>,
    ) -> Result<Self, B> {
        let mut filled = Vec::with_capacity(groups.len());
        for (group, starts) in groups.iter().zip(&starts).skip(usize::from(is_first_natural)) {
            filled.push(in_buckets(group, starts, values, pause)?);
        }
        Ok(Self {
            groups: groups.into(),
            starts: starts.into(),
            values: filled.into(),
            is_first_natural,
            divided: Box::default(),
        })
    }

    /// Divides long buckets again, the longest first: the values of a bucket agree in the bits of its group, so that
    /// other bits tell them apart.
    fn divide<B>(
        &mut self,
        distance: u32,
        natural: &[F],
        pause: &mut dyn FnMut() -> Result<(), B>,
    ) -> Result<(), B> {
        let mut long = Vec::new();
        for (number, starts) in self.starts.iter().enumerate() {
            let buckets = starts.windows(2).map(|ends| (ends[1] - ends[0], number, ends[0]));
            long.extend(buckets.filter(|bucket| bucket.0 as usize > MAX_BUCKET));
        }
        long.sort_unstable_by(|one, other| other.cmp(one));
        let mut left = MAX_DIVIDED_COPIES * natural.len();
        let mut divided = Vec::new();
        for (length, number, start) in long {
            let copies = length as usize * self.groups.len();
            if copies > left {
                continue;
            }
            let values = &self.values_of(number, natural)[start as usize..][..length as usize];
            let groups = Group::spread(distance, values);
            let starts = counted(&groups, values, pause)?;
            if 2.0 * compared(&starts, values.len()) < f64::from(length) {
                let tables = Self::filled(groups, starts, false, values, pause)?;
                divided.push(Divided { group: number as u32, start, tables });
                left -= copies;
            }
        }
        divided.sort_unstable_by_key(|bucket| (bucket.group, bucket.start));
        self.divided = divided.into();
        Ok(())
    }

    /// Returns the group of the first bits and its buckets, if they have the natural order of the values.
    pub(super) fn natural(&self) -> Option<(&Group<F>, &[u32])> {
        self.is_first_natural.then(|| (&self.groups[0], &*self.starts[0]))
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let starts: usize = self.starts.iter().map(|starts| size_of_val(&**starts)).sum();
        let values: usize = self.values.iter().map(|values| size_of_val(&**values)).sum();
        starts + values + self.divided.iter().map(|bucket| bucket.tables.bytes()).sum::<usize>()
    }

    /// Whether a search within a distance needs no more groups than there are.
    #[inline(always)]
    pub(super) fn suffice(&self, distance: u32) -> bool {
        self.groups.len() > distance as usize
    }

    /// Returns the buckets that a search within `distance` reads.
    #[inline(always)]
    pub(super) fn find(&self, query: F, distance: u32) -> Buckets {
        let mut buckets = Buckets::default();
        let groups = self.groups.iter().zip(&self.starts).take(distance as usize + 1);
        for ((group, starts), found) in groups.zip(&mut buckets) {
            let bucket = group.bucket(query);
            *found = (starts[bucket], starts[bucket + 1]);
        }
        buckets
    }

    /// Prefetches the values of buckets that [`Self::find`] has found.
    #[inline(always)]
    pub(super) fn prefetch(&self, natural: &[F], buckets: &Buckets) {
        for (number, &(start, end)) in buckets[..self.groups.len()].iter().enumerate() {
            if start < end {
                let values = self.values_of(number, natural);
                prefetch_value(values, start as usize);
                prefetch_value(values, end as usize - 1);
            }
        }
    }

    /// Calls `visit` with each fingerprint within `distance` of the query, once, in no particular order. The buckets
    /// are the result of [`Self::find`].
    #[inline(always)]
    pub(super) fn for_each_in(
        &self,
        natural: &[F],
        buckets: &Buckets,
        query: F,
        distance: u32,
        mut visit: impl FnMut(F) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        for (number, &(start, end)) in buckets.iter().enumerate().take(distance as usize + 1) {
            let values = &self.values_of(number, natural)[start as usize..end as usize];
            let owns = |value: F| owns(&self.groups[..=number], value ^ query);
            if values.len() > MAX_BUCKET
                && let Some(tables) = self.divided_at(number, start)
            {
                let buckets = tables.find(query, distance);
                tables.for_each_in_undivided(&buckets, query, distance, |value| {
                    if owns(value) { visit(value) } else { Ok(()) }
                })?;
                continue;
            }
            for_each_near(values, query, distance, |value| if owns(value) { visit(value) } else { Ok(()) })?;
        }
        Ok(())
    }

    /// As [`Self::for_each_in`], in the tables of a bucket.
    #[inline(always)]
    fn for_each_in_undivided(
        &self,
        buckets: &Buckets,
        query: F,
        distance: u32,
        mut visit: impl FnMut(F) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        for (number, &(start, end)) in buckets.iter().enumerate().take(distance as usize + 1) {
            for_each_near(&self.values[number][start as usize..end as usize], query, distance, |value| {
                let is_own = owns(&self.groups[..=number], value ^ query);
                if is_own { visit(value) } else { Ok(()) }
            })?;
        }
        Ok(())
    }

    #[inline(always)]
    fn values_of<'v>(&'v self, number: usize, natural: &'v [F]) -> &'v [F] {
        match (self.is_first_natural, number) {
            (true, 0) => natural,
            (true, _) => &self.values[number - 1],
            (false, _) => &self.values[number],
        }
    }

    /// Returns the tables of a bucket that is divided again.
    fn divided_at(&self, group: usize, start: u32) -> Option<&Self> {
        let wanted = (group as u32, start);
        let at = self.divided.binary_search_by_key(&wanted, |bucket| (bucket.group, bucket.start)).ok()?;
        Some(&self.divided[at].tables)
    }
}

#[cfg(test)]
impl<F: Fingerprint> Tables<F> {
    /// Returns the number of values that a search compares.
    pub(super) fn compared_by(&self, query: F, distance: u32) -> usize {
        let buckets = self.find(query, distance);
        let of_bucket = |(number, &(start, end)): (usize, &(u32, u32))| match self.divided_at(number, start) {
            Some(tables) if (end - start) as usize > MAX_BUCKET => tables.compared_by(query, distance),
            _ => (end - start) as usize,
        };
        buckets.iter().enumerate().map(of_bucket).sum()
    }
}

/// Calls `visit` with each value within `distance` of the query, in order.
///
/// The comparisons are plain loops. The compiler may leave a closure out of line, and then compiles it without wider
/// instructions.
#[inline(always)]
pub(super) fn for_each_near<F: Fingerprint>(
    values: &[F],
    query: F,
    distance: u32,
    mut visit: impl FnMut(F) -> Result<(), Stopped>,
) -> Result<(), Stopped> {
    for values in values.chunks(VALUES_AT_ONCE) {
        // Without a branch per value; hardly any is near.
        let mut is_any_near = false;
        for &value in values {
            is_any_near |= value.distance(query) <= distance;
        }
        if is_any_near {
            for &value in values {
                if value.distance(query) <= distance {
                    visit(value)?;
                }
            }
        }
    }
    Ok(())
}

/// Counts the values of the buckets of each group.
fn counted<F: Fingerprint, B>(
    groups: &[Group<F>],
    values: &[F],
    pause: &mut dyn FnMut() -> Result<(), B>,
) -> Result<Vec<Starts>, B> {
    let mut all = Vec::with_capacity(groups.len());
    for group in groups {
        pause()?;
        let mut starts = vec![0; group.buckets() + 1];
        for &value in values {
            starts[group.bucket(value) + 1] += 1;
        }
        for bucket in 0..group.buckets() {
            starts[bucket + 1] += starts[bucket];
        }
        all.push(starts.into());
    }
    Ok(all)
}

/// Returns the number of values that a search for one of `count` values compares, on average.
fn compared(starts: &[Starts], count: usize) -> f64 {
    let lengths = starts.iter().flat_map(|starts| starts.windows(2).map(|ends| f64::from(ends[1] - ends[0])));
    lengths.map(|length| length * length).sum::<f64>() / count.max(1) as f64
}

fn in_buckets<F: Fingerprint, B>(
    group: &Group<F>,
    starts: &[u32],
    values: &[F],
    pause: &mut dyn FnMut() -> Result<(), B>,
) -> Result<Box<[F]>, B> {
    let mut next = starts.to_vec();
    let mut bucketed = vec![F::ZERO; values.len()];
    prefer_huge_pages(&mut bucketed);
    for values in values.chunks(BETWEEN_PAUSES) {
        pause()?;
        for &value in values {
            let next = &mut next[group.bucket(value)];
            bucketed[*next as usize] = value;
            *next += 1;
        }
    }
    Ok(bucketed.into())
}
