//! Decompression of inputs, of all parts that a file is made of.

use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;

use liblzma::stream::{CONCATENATED, Stream};
use lz4_flex::frame::FrameDecoder;

use crate::input::gzip::{GzipMembers, Trailing};
use crate::input::source::{BROTLI_ENDING, Compression, Verdict, inspect};

const BROTLI_BUFFER_BYTES: usize = 1 << 16;

/// The greatest dictionary of an xz file; `xz -9` uses 65 MiB.
const MAX_XZ_BYTES: u64 = 512 << 20;

/// Decompresses data that starts like compressed data, and returns how it is compressed. Bytes behind gzip that are
/// neither gzip nor zeros are ignored, as `gzip` ignores them, and set `trailing`; `of_records`, they are damage, and
/// members are looked for behind them.
pub(crate) fn decompress(
    mut reader: impl BufRead + Send + 'static,
    name: &Path,
    trailing: Trailing,
    of_records: bool,
) -> io::Result<(Box<dyn Read + Send>, Option<Compression>)> {
    if name.extension().is_some_and(|ending| ending == BROTLI_ENDING) && !reader.fill_buf()?.is_empty() {
        let decoder = brotli_decompressor::Decompressor::new(reader, BROTLI_BUFFER_BYTES);
        return Ok((Box::new(decoder), Some(Compression::Brotli)));
    }
    let (verdict, taken) = inspect(&mut reader)?;
    let reader = Cursor::new(taken).chain(reader);
    let Verdict::Is(compression) = verdict else { return Ok((Box::new(reader), None)) };
    let decoder: Box<dyn Read + Send> = match compression {
        Compression::Gzip => Box::new(GzipMembers::of(reader, trailing, of_records)),
        Compression::Zstd => Box::new(ZstdFrames(zstd::Decoder::with_buffer(reader)?)),
        Compression::Xz => {
            let stream = Stream::new_stream_decoder(MAX_XZ_BYTES, CONCATENATED)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(reader, stream))
        }
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
        Compression::Lz4 => {
            let decoder = FrameDecoder::new(Counted { reader, count: 0, last: [0; 8] });
            Box::new(Lz4Frames { decoder, start: 0 })
        }
        Compression::Brotli => unreachable!("it has no signature"),
    };
    Ok((decoder, Some(compression)))
}

/// Reads Zstandard, and says what to do with windows that are too large to be trusted.
struct ZstdFrames<'a, R: BufRead>(zstd::Decoder<'a, R>);

impl<R: BufRead> Read for ZstdFrames<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.to_string() {
            text if text.contains("too much memory") => io::Error::new(
                error.kind(),
                "its window has more than 128 MiB; decompress it first, with zstd -d --long=31",
            ),
            _ => error,
        })
    }
}

/// The least bytes of an LZ4 frame: its mark, its description and its end.
const LZ4_FRAME_BYTES: u64 = 11;

/// Reads all frames of an LZ4 file. The decoder ends after each frame, and also where the file ends within the head of
/// one or between its blocks.
struct Lz4Frames<R: Read> {
    decoder: FrameDecoder<Counted<R>>,
    /// Where the frame that is read begins.
    start: u64,
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Counted { count: end, last, .. } = *self.decoder.get_ref();
            if self.decoder.get_mut().reader.fill_buf()?.is_empty() {
                // A frame ends with a block of no bytes, and maybe a checksum.
                let has_end = last[..4] == [0; 4] || last[4..] == [0; 4];
                if end > self.start && (end - self.start < LZ4_FRAME_BYTES || !has_end) {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends within a frame"));
                }
                return Ok(0);
            }
            self.start = end;
        }
    }
}

/// A reader that counts the bytes read, and keeps the last ones.
struct Counted<R> {
    reader: R,
    count: u64,
    last: [u8; 8],
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.count += count as u64;
        let kept = count.min(self.last.len());
        self.last.rotate_left(kept);
        let from = self.last.len() - kept;
        self.last[from..].copy_from_slice(&buffer[count - kept..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::input::source::inner_name;

    /// Returns one byte per call, like a slow pipe.
    struct Slow(std::collections::VecDeque<u8>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(first) = buffer.first_mut() else { return Ok(0) };
            let byte = self.0.pop_front();
            *first = byte.unwrap_or_default();
            Ok(usize::from(byte.is_some()))
        }
    }

    fn written(mut writer: impl Write, text: &[u8]) {
        writer.write_all(text).unwrap();
    }

    /// The text, compressed in every format.
    fn packed(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let mut gzip = Vec::new();
        written(flate2::write::GzEncoder::new(&mut gzip, flate2::Compression::default()), text);
        let mut bzip2 = Vec::new();
        written(bzip2::write::BzEncoder::new(&mut bzip2, bzip2::Compression::best()), text);
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(text).unwrap();
        let mut xz = Vec::new();
        written(liblzma::write::XzEncoder::new(&mut xz, 6), text);
        vec![
            ("gzip", gzip),
            ("zstd", zstd::encode_all(text, 0).unwrap()),
            ("xz", xz),
            ("bzip2", bzip2),
            ("lz4", lz4.finish().unwrap()),
        ]
    }

    fn unpacked(bytes: impl Into<Vec<u8>>) -> io::Result<(Vec<u8>, bool)> {
        let bytes: Vec<u8> = bytes.into();
        let (mut reader, compression) =
            decompress(BufReader::new(Slow(bytes.into())), Path::new("-"), Trailing::default(), false)?;
        let mut text = Vec::new();
        reader.read_to_end(&mut text)?;
        Ok((text, compression.is_some()))
    }

    #[test]
    fn compressed_data_is_recognised_however_slowly_it_comes() {
        for (name, bytes) in packed(b"some text") {
            assert_eq!(unpacked(bytes).unwrap(), (b"some text".to_vec(), true), "{name}");
        }
        for start in [&b"some text"[..], b"", b"\x28\xb5", b"\x1f", b"BZh", b"BZh9 is no mark", b"\xfd7z"] {
            assert_eq!(unpacked(start).unwrap(), (start.to_vec(), false));
        }
    }

    #[test]
    fn zeros_behind_gzip_are_padding_and_other_bytes_are_told() {
        let (_, gzip) = packed(b"some text").remove(0);
        let read = |rest: &[u8]| {
            let trailing = Trailing::default();
            let bytes = [&gzip[..], rest].concat();
            let reader = BufReader::new(Slow(bytes.into()));
            let (mut reader, _) =
                decompress(reader, Path::new("a.gz"), Arc::clone(&trailing), false).unwrap();
            let mut text = Vec::new();
            let outcome = reader.read_to_end(&mut text).map(|_| trailing.load(Ordering::Relaxed));
            assert!(text.starts_with(b"some text"));
            outcome
        };
        assert!(!read(b"").unwrap() && !read(&[0; 1000]).unwrap());
        assert!(read(b"junk").unwrap() && read(b"\0\0x").unwrap() && read(b"\x1fx").unwrap());
        for cut in [&b"\x1f"[..], b"\x1f\x8b"] {
            assert_eq!(read(cut).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
        assert!(read(&gzip[..12]).is_err());
    }

    /// A byte of each member in turn is changed, and all other members are read.
    #[test]
    fn members_behind_a_damaged_one_are_found() {
        let texts: Vec<String> =
            (0..5u32).map(|i| format!("text {i} {:x}\n", i.wrapping_mul(2_654_435_761))).collect();
        let members: Vec<Vec<u8>> = texts.iter().map(|text| packed(text.as_bytes()).remove(0).1).collect();
        let mut damages = 0;
        for damaged in 0..texts.len() {
            // The date and the system in the header mean nothing.
            for at in (0..members[damaged].len()).filter(|at| !(4..10).contains(at)) {
                let mut bytes = members.clone();
                bytes[damaged][at] ^= 0x55;
                let reader = BufReader::new(Slow(bytes.concat().into()));
                let Ok((mut reader, Some(_))) =
                    decompress(reader, Path::new("a.gz"), Trailing::default(), true)
                else {
                    assert!(damaged == 0 && at < 3, "{damaged} {at}");
                    continue;
                };
                let (mut text, mut errors) = (Vec::new(), 0);
                while reader.read_to_end(&mut text).is_err() {
                    errors += 1;
                    assert!(errors < 4, "{damaged} {at}");
                }
                damages += errors;
                let text = String::from_utf8_lossy(&text);
                let rest = texts.iter().enumerate().filter(|&(number, _)| number != damaged);
                for (_, line) in rest {
                    assert!(text.contains(line), "{damaged} {at}: {text:?}");
                }
            }
        }
        assert!(damages > 60, "{damages}");
    }

    #[test]
    fn brotli_is_known_by_its_name() {
        let mut packed = Vec::new();
        let text = b"some text ".repeat(50);
        brotli::BrotliCompress(&mut &text[..], &mut packed, &Default::default()).unwrap();
        let read = |bytes: &[u8]| {
            let (mut reader, _) = decompress(
                BufReader::new(Slow(bytes.to_vec().into())),
                Path::new("a.txt.br"),
                Trailing::default(),
                false,
            )?;
            let mut found = Vec::new();
            reader.read_to_end(&mut found).map(|_| found)
        };
        assert_eq!(read(&packed).unwrap(), text);
        assert!(read(&packed[..packed.len() / 2]).is_err() && read(b"some text that is plain").is_err());
        assert_eq!(inner_name(Path::new("a.jsonl.br")), Path::new("a.jsonl"));
    }

    #[test]
    fn a_window_that_is_too_large_names_the_remedy() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(30).unwrap();
        encoder.write_all(b"some text").unwrap();
        let error = unpacked(encoder.finish().unwrap()).unwrap_err();
        assert!(error.to_string().contains("zstd -d --long=31"), "{error}");
    }

    #[test]
    fn concatenated_files_are_one() {
        for ((name, mut one), (_, other)) in packed(b"some ").into_iter().zip(packed(b"text")) {
            one.extend(other);
            assert_eq!(unpacked(one).unwrap().0, b"some text", "{name}");
        }
    }

    #[test]
    fn a_file_that_ends_within_a_later_part_is_cut() {
        for ((name, one), (_, other)) in packed(b"some ").into_iter().zip(packed(b"text")) {
            for length in 1..other.len() {
                let cut = unpacked([&one[..], &other[..length]].concat());
                assert!(cut.is_err(), "{name} with {length} bytes more: {cut:?}");
            }
        }
    }

    #[test]
    fn truncated_data_is_an_error_and_so_is_damaged_data_with_checksums() {
        let words = (0..2000u32).map(|i| format!("{} ", i.wrapping_mul(2_654_435_761)));
        let text = words.collect::<String>().into_bytes();
        for (name, bytes) in packed(&text) {
            for length in (16..bytes.len()).step_by(bytes.len() / 40) {
                assert!(unpacked(&bytes[..length]).is_err(), "{name} cut to {length} bytes");
            }
            for at in (0..bytes.len()).step_by(bytes.len() / 100) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x10;
                if let Ok((found, true)) = unpacked(damaged) {
                    // As with a date in the header. These two are written without checksums here.
                    assert!(found == text || ["zstd", "lz4"].contains(&name), "{name} damaged at {at}");
                }
            }
        }
    }
}
