//! The files of a crate, and the names that each takes from the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A path in code, segment by segment.
type Segments = Vec<String>;

/// The files of a crate. One file is one module; inline modules belong to their file.
pub(crate) struct Modules {
    files: Vec<File>,
    by_path: HashMap<Segments, usize>,
}

struct File {
    /// From the crate's root: `["codec", "huffman"]`.
    path: Segments,
    name: PathBuf,
    /// Re-exports: names visible to other modules that are defined elsewhere.
    reexports: BTreeMap<String, Segments>,
    /// Paths that the code of this file takes names from.
    paths: BTreeSet<Segments>,
}

impl Modules {
    /// Reads all files of a crate's source folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut files = Vec::new();
        for entry in walk(folder) {
            let code = fs::read_to_string(&entry).expect("a source file");
            let parsed =
                syn::parse_file(&code).unwrap_or_else(|error| panic!("{}: {error}", entry.display()));
            let name = entry.strip_prefix(folder).expect("a file below the folder").to_owned();
            let path = module_path(&name);
            let mut reader = Reader { module: path.clone(), ..Reader::default() };
            reader.visit_file(&parsed);
            files.extend(reader.finish(name));
        }
        let by_path = files.iter().enumerate().map(|(number, file)| (file.path.clone(), number)).collect();
        Self { files, by_path }
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The file of a module, from the source folder.
    pub(crate) fn name(&self, file: usize) -> String {
        self.files[file].name.display().to_string()
    }

    /// Returns the folder or file directly below the crate's root that contains a module; `None` for the root.
    pub(crate) fn layer(&self, file: usize) -> Option<&str> {
        self.files[file].path.first().map(String::as_str)
    }

    /// Returns the imports: importing file, imported file, and names.
    pub(crate) fn imports(&self) -> Vec<(usize, usize, BTreeSet<String>)> {
        let mut imports: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
        for (from, file) in self.files.iter().enumerate() {
            for path in &file.paths {
                let to = self.resolve(path, 0);
                // A module consists of its submodules, which may use its names.
                let is_own = file.path.starts_with(&self.files[to].path) && !self.files[to].path.is_empty();
                if !is_own && to != from {
                    let name = path.last().cloned().unwrap_or_default();
                    imports.entry((from, to)).or_default().insert(name);
                }
            }
        }
        imports.into_iter().map(|((from, to), names)| (from, to, names)).collect()
    }

    /// The file in which the name at the end of a path is defined, through all re-exports. A name that no
    /// module of this crate has is taken for one of the file in which the search for it ends.
    fn resolve(&self, path: &[String], depth: usize) -> usize {
        assert!(depth < 16, "re-exports in a circle: {path:?}");
        let mut module = Segments::new();
        let mut at = self.by_path[&module];
        for (number, segment) in path.iter().enumerate() {
            module.push(segment.clone());
            if let Some(&below) = self.by_path.get(&module) {
                at = below;
                continue;
            }
            let Some(real) = self.files[at].reexports.get(segment) else { return at };
            let whole: Segments = real.iter().chain(&path[number + 1..]).cloned().collect();
            if whole == path {
                // A macro, which `use` makes an item of the file that defines it.
                return at;
            }
            return self.resolve(&whole, depth + 1);
        }
        at
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry of a source folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "tests" | "target" | "examples" | "benches") {
                found.extend(walk(&path));
            }
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "build.rs" {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// `codec/huffman/mod.rs` is the module `codec::huffman`.
fn module_path(name: &Path) -> Segments {
    let mut path: Segments =
        name.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// Reads the names that one file takes.
#[derive(Default)]
struct Reader {
    module: Segments,
    /// Names bound by `use`: their paths, and whether they are public.
    bound: Vec<(String, Segments, bool)>,
    paths: BTreeSet<Segments>,
    /// Modules whose files lie elsewhere: `#[path = "…"] mod name;`.
    elsewhere: Vec<(Segments, PathBuf)>,
    /// All first segments of paths, to see which re-exports the file itself uses.
    used: BTreeSet<String>,
}

impl Reader {
    /// The file itself, and files of other folders that it includes as modules.
    fn finish(self, name: PathBuf) -> Vec<File> {
        let mut paths = self.paths;
        let mut reexports = BTreeMap::new();
        for (alias, path, is_public) in self.bound {
            if !is_public || self.used.contains(&alias) {
                paths.insert(path.clone());
            }
            if is_public {
                reexports.insert(alias, path);
            }
        }
        let mut files: Vec<File> = self
            .elsewhere
            .into_iter()
            .map(|(path, name)| File { path, name, reexports: BTreeMap::new(), paths: BTreeSet::new() })
            .collect();
        files.push(File { path: self.module, name, reexports, paths });
        files
    }

    /// A path that begins with `crate`, `self` or `super`, from the crate's root; `None` for any other.
    fn absolute(&self, path: &[String]) -> Option<Segments> {
        let first = path.first()?;
        match first.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some(self.module.iter().chain(&path[1..]).cloned().collect()),
            "super" => {
                let ups = path.iter().take_while(|segment| *segment == "super").count();
                let kept = self.module.len().checked_sub(ups)?;
                Some(self.module[..kept].iter().chain(&path[ups..]).cloned().collect())
            }
            _ => None,
        }
    }

    fn take_use(&mut self, tree: &UseTree, before: &Segments, is_public: bool) {
        match tree {
            UseTree::Path(path) => {
                let mut longer = before.clone();
                longer.push(path.ident.to_string());
                self.take_use(&path.tree, &longer, is_public);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.take_use(item, before, is_public));
            }
            UseTree::Name(name) => {
                let mut path = before.clone();
                let alias = if name.ident == "self" {
                    before.last().cloned().unwrap_or_default()
                } else {
                    path.push(name.ident.to_string());
                    name.ident.to_string()
                };
                self.bind(alias, &path, is_public);
            }
            UseTree::Rename(rename) => {
                let mut path = before.clone();
                path.push(rename.ident.to_string());
                self.bind(rename.rename.to_string(), &path, is_public);
            }
            // No names: the module as a whole.
            UseTree::Glob(_) => self.bind("*".to_owned(), before, is_public),
        }
    }

    fn bind(&mut self, alias: String, path: &[String], is_public: bool) {
        // Any other path is a child module's or another crate's, which resolves to this very file.
        let path = self.absolute(path).unwrap_or_else(|| self.module.iter().chain(path).cloned().collect());
        self.bound.push((alias, path, is_public));
    }

    fn take_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    self.used.insert(ident.to_string());
                }
                TokenTree::Group(group) => self.take_tokens(group.stream()),
                _ => {}
            }
        }
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|what| what.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("path")) {
            if let syn::Meta::NameValue(pair) = &attribute.meta
                && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(place), .. }) = &pair.value
            {
                let path = self.module.iter().cloned().chain([item.ident.to_string()]).collect();
                self.elsewhere.push((path, PathBuf::from(place.value())));
            }
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        self.take_use(&item.tree, &Segments::new(), is_public);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.used.insert(segments[0].clone());
        if let Some(absolute) = self.absolute(&segments) {
            self.paths.insert(absolute);
        } else if segments.len() > 1 {
            // `child::name` without a `use`.
            self.paths.insert(self.module.iter().chain(&segments).cloned().collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.take_tokens(item.tokens.clone());
    }

    /// `pub(crate)` takes no name.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}
