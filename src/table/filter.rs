//! The filter of a table of an open file: verifies its section, and tests prefixes. `filter_bits.rs` has the format of
//! its bits.

use byteorder::{ByteOrder, LittleEndian};

use crate::arch::{Instructions, LANES, prefetch};
use crate::error::{Place, ReadError};
use crate::filter_bits::{Delay, Form, Geometry, Group, Groups, LINE_BYTES, MAX_PREFIX_BITS, Pattern};
use crate::format::section::{PAGE, Section};
use crate::mapping::Mapping;

/// The filter of a table.
pub(crate) struct Filter {
    geometry: Geometry,
    section: Section,
    /// The contents of the section in memory of the process, all checksums verified.
    copy: Option<Mapping>,
    /// Whether the file's own bytes need no check.
    is_verified: bool,
}

/// A filter, readable.
#[derive(Clone, Copy)]
pub(crate) struct FilterInFile<'a> {
    geometry: Geometry,
    /// The contents of the section.
    bytes: &'a [u8],
    /// The section and the file, if pages may not have been verified.
    unverified: Option<(&'a Section, &'a [u8])>,
}

impl Filter {
    /// Reads the head of a filter.
    pub(crate) fn open(
        place: Place,
        section: Section,
        file: &[u8],
        prefix_bits: u32,
    ) -> Result<Self, ReadError> {
        let damaged = |what| ReadError::damaged(place, what);
        let length = section.length();
        if length < 2 * LINE_BYTES || !length.is_multiple_of(LINE_BYTES) {
            return Err(damaged("its length is impossible"));
        }
        let head = section.read(file, 0..LINE_BYTES)?;
        let lines = LittleEndian::read_u64(&head[8..]);
        let form = match LittleEndian::read_u32(head) {
            1 => Form::Bloom,
            2 if Geometry::lines_of_bitmap(prefix_bits) == Some(lines) => Form::Bitmap,
            _ => return Err(damaged("its form is unknown")),
        };
        if LittleEndian::read_u32(&head[4..]) != prefix_bits || !(1..=MAX_PREFIX_BITS).contains(&prefix_bits)
        {
            return Err(damaged("its prefixes are not those of the table"));
        }
        if lines != (length / LINE_BYTES - 1) as u64 {
            return Err(damaged("its number of lines is not its length"));
        }
        if head[16..].iter().any(|&byte| byte != 0) {
            return Err(damaged("reserved bytes are not zero"));
        }
        Ok(Self { geometry: Geometry { form, prefix_bits, lines }, section, copy: None, is_verified: false })
    }

    /// Verifies all of it, for bytes that do not change.
    pub(crate) fn verified(mut self, file: &[u8]) -> Result<Self, ReadError> {
        self.section.read_all(file)?;
        self.is_verified = true;
        Ok(self)
    }

    /// Verifies all of it and keeps a copy in memory.
    pub(crate) fn copied(mut self, file: &[u8]) -> Result<Self, ReadError> {
        let contents = self.section.read_all(file)?;
        let copy = Mapping::anonymous(contents.len(), |bytes| {
            bytes.copy_from_slice(contents);
            Ok(())
        });
        // Without room for a copy the file serves as well.
        self.copy = copy.ok();
        Ok(self)
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn section(&self) -> &Section {
        &self.section
    }

    /// Returns the bytes of memory in use, in addition to the file.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.copy.as_ref().map_or(0, |copy| copy.as_ref().len()) + self.section.memory_bytes()
    }

    /// Returns whether a copy is kept in memory.
    pub(crate) fn is_copied(&self) -> bool {
        self.copy.is_some()
    }

    /// Returns the share of bits that are set.
    ///
    /// # Errors
    /// When a page is damaged.
    pub(crate) fn load(&self, file: &[u8]) -> Result<f64, ReadError> {
        let contents = match &self.copy {
            Some(copy) => copy.as_ref(),
            None => self.section.read_all(file)?,
        };
        let lines = &contents[LINE_BYTES..];
        let set: u64 =
            lines.chunks_exact(8).map(|word| u64::from(LittleEndian::read_u64(word).count_ones())).sum();
        Ok(set as f64 / (lines.len() * 8) as f64)
    }

    /// Returns a reader of the filter; `file` is the file of the table.
    #[inline(always)]
    pub(crate) fn in_file<'a>(&'a self, file: &'a [u8]) -> FilterInFile<'a> {
        let Self { geometry, section, copy, is_verified } = self;
        let bytes = copy.as_ref().map_or_else(|| &file[section.contents()], Mapping::as_ref);
        let unverified = (copy.is_none() && !is_verified).then_some((section, file));
        FilterInFile { geometry: *geometry, bytes, unverified }
    }
}

impl FilterInFile<'_> {
    /// Prefetches the lines of all prefixes with at most one error, if there are no others to look up.
    #[inline(always)]
    pub(crate) fn prefetch_lines(&self, prefix: u64, errors: u32) {
        if errors <= 1 {
            let mut groups = Groups::new(prefix, self.geometry.prefix_bits, errors);
            while let Some(group) = groups.next() {
                self.prefetch_group(&group);
            }
        }
    }

    /// Calls `visit` with each prefix with at most `errors` errors that the table may have.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    #[inline(always)]
    pub(crate) fn for_each(
        &self,
        instructions: impl Instructions,
        prefix: u64,
        errors: u32,
        mut visit: impl FnMut(Pattern),
    ) -> Result<(), ReadError> {
        // No closure tests: its code would not be compiled for the instructions of the kernel.
        let mut groups = Groups::new(prefix, self.geometry.prefix_bits, errors);
        let mut delay = Delay::default();
        while let Some(group) = groups.next() {
            // The lines of up to one error have been prefetched.
            let due = if errors > 1 {
                self.prefetch_group(&group);
                delay.push(group)
            } else {
                Some(group)
            };
            if let Some(due) = due {
                let marked = self.test(instructions, &due)?;
                due.visit(marked, &mut visit);
            }
        }
        for due in delay.rest() {
            let marked = self.test(instructions, due)?;
            due.visit(marked, &mut visit);
        }
        Ok(())
    }

    /// Returns a bit mask of the prefixes of a group that the table may have.
    #[inline(always)]
    fn test(&self, instructions: impl Instructions, group: &Group) -> Result<u32, ReadError> {
        let prefixes = group.prefixes();
        let starts = self.starts(&prefixes);
        if let Some((section, file)) = self.unverified {
            for start in starts {
                section.verify_page_once(file, start as usize / PAGE)?;
            }
        }
        Ok(self.geometry.are_marked(instructions, self.bytes, &starts, &prefixes) & group.lanes())
    }

    /// Prefetches the lines of a group.
    #[inline(always)]
    fn prefetch_group(&self, group: &Group) {
        for start in self.starts(&group.prefixes()) {
            prefetch(self.bytes, start as usize);
        }
    }

    /// Returns the offsets of the lines of some prefixes.
    #[inline(always)]
    fn starts(&self, prefixes: &[u64; LANES]) -> [u64; LANES] {
        let mut starts = self.geometry.lines_of(prefixes);
        for start in &mut starts {
            // The first line is the head.
            *start = (*start + 1) * LINE_BYTES as u64;
        }
        starts
    }

    /// Returns whether the table may have a prefix.
    ///
    /// # Errors
    /// When its page is damaged.
    #[inline(always)]
    pub(crate) fn may_have(&self, prefix: u64) -> Result<bool, ReadError> {
        let at = self.line_at(prefix);
        if let Some((section, file)) = self.unverified {
            section.verify_page_once(file, at / PAGE)?;
        }
        let line = self.bytes[at..].first_chunk().expect("every line lies inside the filter");
        Ok(self.geometry.is_marked(line, prefix))
    }

    /// Returns the offset of the line of a prefix: the first line is the head.
    #[inline(always)]
    fn line_at(&self, prefix: u64) -> usize {
        (self.geometry.line(prefix) as usize + 1) * LINE_BYTES
    }
}
