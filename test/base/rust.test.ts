import { describe, expect, it } from 'vitest'
import { pruneToDeclarations } from '../../src/base/rust.ts'

const gone = '{\n    // ...\n}'

describe('pruneToDeclarations', () => {
  it.each([
    ['a function', 'fn add(a: i32) -> i32 {\n    a + 1\n}', `fn add(a: i32) -> i32 ${gone}`],
    ['one line', 'pub fn one() -> u8 { 1 }', `pub fn one() -> u8 ${gone}`],
    ['a body that holds nothing', 'fn no() {}\nfn none() { }', 'fn no() {}\nfn none() { }'],
    ['a body that holds a comment only', 'fn todo() { /* later */ }', `fn todo() ${gone}`],
    [
      'all qualifiers',
      'pub(crate) const unsafe extern "C" fn f() { g() }',
      `pub(crate) const unsafe extern "C" fn f() ${gone}`,
    ],
    ['async', 'async fn f() -> Result<()> { g().await }', `async fn f() -> Result<()> ${gone}`],
    [
      'a declaration without a body',
      'trait T {\n    fn a(&self);\n    fn b(&self) -> u8;\n}',
      'trait T {\n    fn a(&self);\n    fn b(&self) -> u8;\n}',
    ],
    [
      'a default method',
      'trait T {\n    fn a(&self);\n    fn b(&self) { 1; }\n}',
      'trait T {\n    fn a(&self);\n    fn b(&self) {\n        // ...\n    }\n}',
    ],
    ['an implementation', 'impl S {\n\tfn a() {\n\t\tb()\n\t}\n}', 'impl S {\n\tfn a() {\n\t    // ...\n\t}\n}'],
    [
      'nested functions with their outer one',
      'fn a() { fn b() { 1 } b() }\nfn c() { 2 }',
      `fn a() ${gone}\nfn c() ${gone}`,
    ],
    [
      'structs and enums',
      'struct S { a: u8 }\nenum E { A { b: u8 }, C(fn(u8) -> u8) }',
      'struct S { a: u8 }\nenum E { A { b: u8 }, C(fn(u8) -> u8) }',
    ],
    [
      'constants with blocks and closures',
      'const A: fn() = { || { 1; } };\nstatic B: L = L::new(|| { 2 });',
      'const A: fn() = { || { 1; } };\nstatic B: L = L::new(|| { 2 });',
    ],
    [
      'pointers to functions in signatures',
      'fn a(f: fn(u8) -> u8, g: &dyn Fn(u8) -> u8) { f(1) }',
      `fn a(f: fn(u8) -> u8, g: &dyn Fn(u8) -> u8) ${gone}`,
    ],
    [
      'generics and where clauses',
      'fn a<T: Into<Vec<u8>>, const N: usize>(t: T) -> [u8; N]\nwhere\n    T: Fn() -> bool,\n{\n    x\n}',
      `fn a<T: Into<Vec<u8>>, const N: usize>(t: T) -> [u8; N]\nwhere\n    T: Fn() -> bool,\n${gone}`,
    ],
    [
      'braces of constants in signatures',
      'fn a() -> [u8; { N + 1 }] where A<{ N > 0 }>: B, [(); { N << 1 }]: Sized { x }',
      `fn a() -> [u8; { N + 1 }] where A<{ N > 0 }>: B, [(); { N << 1 }]: Sized ${gone}`,
    ],
    [
      'bindings of associated types',
      "fn a(i: impl Iterator<Item = u8>) -> Box<dyn Iterator<Item = u8> + '_> { i }",
      `fn a(i: impl Iterator<Item = u8>) -> Box<dyn Iterator<Item = u8> + '_> ${gone}`,
    ],
    [
      'braces in strings',
      'fn a() { "}" }\nfn b() { b"\\"}" }\nfn c() { c"}" }',
      `fn a() ${gone}\nfn b() ${gone}\nfn c() ${gone}`,
    ],
    [
      'braces in raw strings',
      'fn a() { r#"}"}"#; br##"}"#"##; r"}\\" }\nfn b() { 1 }',
      `fn a() ${gone}\nfn b() ${gone}`,
    ],
    [
      'braces in characters',
      "fn a() { '}'; '\\''; b'}'; b'\\\\'; '\\u{7D}'; '😀'; '{' }\nfn b() { 1 }",
      `fn a() ${gone}\nfn b() ${gone}`,
    ],
    [
      'lifetimes and labels, which are no characters',
      "fn a<'a,'b>(x: &'a str) -> &'b str { 'l: loop { break 'l; } }\nfn b() { 1 }",
      `fn a<'a,'b>(x: &'a str) -> &'b str ${gone}\nfn b() ${gone}`,
    ],
    ['braces in comments', 'fn a() { // }\n 1 /* } /* } */ } */ }\nfn b() { 2 }', `fn a() ${gone}\nfn b() ${gone}`],
    [
      'comments outside, which stay',
      '//! top {\nuse a::b; // and {\n/// doc fn x() { 1 }\nfn a() { 1 }\n/* fn y() { 2 } */',
      `//! top {\nuse a::b; // and {\n/// doc fn x() { 1 }\nfn a() ${gone}\n/* fn y() { 2 } */`,
    ],
    [
      'functions that texts mention',
      'const A: &str = "fn a() { 1 }";\n#[doc = "fn b() {"]\nstruct S;',
      'const A: &str = "fn a() { 1 }";\n#[doc = "fn b() {"]\nstruct S;',
    ],
    ['raw names', 'fn r#type() { r#fn { 1 } }\nstruct r#fn { a: u8 }', `fn r#type() ${gone}\nstruct r#fn { a: u8 }`],
    ['names that are not ASCII', 'fn größe_名() { 1 }', `fn größe_名() ${gone}`],
    [
      'macros',
      'macro_rules! m {\n    ($n:ident, fn $f:ident) => {\n        fn $n() { 1 }\n    };\n}',
      'macro_rules! m {\n    ($n:ident, fn $f:ident) => {\n        fn $n() {\n            // ...\n        }\n    };\n}',
    ],
    [
      'calls of macros',
      'cfg_if! { if #[cfg(unix)] { fn a() { 1 } } else { fn b(); } }',
      `cfg_if! { if #[cfg(unix)] { fn a() ${gone} } else { fn b(); } }`,
    ],
    [
      'what only looks like a function',
      'm! { fn a() => { 1 } }\nm! { fn => { 2 } }',
      'm! { fn a() => { 1 } }\nm! { fn => { 2 } }',
    ],
    [
      'modules of tests',
      '#[cfg(test)]\nmod tests {\n    // Some tests\n    #[test]\n    fn a() { 1 }\n}\nfn b() { 2 }',
      `#[cfg(test)]\nmod tests ${gone}\nfn b() ${gone}`,
    ],
    [
      'modules of tests with more around them',
      '#[cfg(all(test, unix))]\n#[allow(dead_code)]\npub(crate) mod t {\n    use x::{a, b};\n}',
      `#[cfg(all(test, unix))]\n#[allow(dead_code)]\npub(crate) mod t ${gone}`,
    ],
    [
      'other things of tests',
      '#[cfg(test)]\nuse a::{b, c};\n#[cfg(test)]\nmod t;\n#[cfg(not(test))]\nmod m {\n    struct S { a: u8 }\n}',
      '#[cfg(test)]\nuse a::{b, c};\n#[cfg(test)]\nmod t;\n#[cfg(not(test))]\nmod m {\n    struct S { a: u8 }\n}',
    ],
    ['line ends of Windows', 'fn a() {\r\n    1\r\n}\r\n', 'fn a() {\r\n    // ...\r\n}\r\n'],
    ['a brace that is never closed', 'fn a() { 1 }\nfn b() { if x {\n 2', `fn a() ${gone}\nfn b() { if x {\n 2`],
    ['brackets that close too early', '} ) fn a() { 1 } ]', `} ) fn a() ${gone} ]`],
    ['texts that are never closed', 'fn a() { 1 }\nfn b() { " }', `fn a() ${gone}\nfn b() { " }`],
    ['nothing', '', ''],
    ['blanks', ' \n', ' \n'],
    ['what is no Rust', "Dear fn, { don't }", "Dear fn, { don't }"],
  ])('handles %s', (_, code, expected) => {
    expect(pruneToDeclarations(code)).toBe(expected)
  })

  it('is idempotent', () => {
    const once = pruneToDeclarations('impl S {\n    fn a(&self) -> u8 { 1 }\n}\nfn b() {\n    2\n}\n')
    expect(pruneToDeclarations(once)).toBe(once)
  })

  it('handles a large file, one long line, and deep nesting', () => {
    const many = 'fn name(a: u8) -> u8 { a + "}".len() as u8 }\n'.repeat(20_000)
    expect(pruneToDeclarations(many)).toBe('fn name(a: u8) -> u8 {\n    // ...\n}\n'.repeat(20_000))
    const line = 'fn name(a: u8) -> u8 { a } '.repeat(20_000)
    expect(pruneToDeclarations(line)).toBe(`fn name(a: u8) -> u8 ${gone} `.repeat(20_000))
    const open = 'fn a<T>(fn b('.repeat(50_000)
    expect(pruneToDeclarations(open)).toBe(open)
    const deep = `fn a() { ${'{'.repeat(200_000)}${'}'.repeat(200_000)} }`
    expect(pruneToDeclarations(deep)).toBe(`fn a() ${gone}`)
    const text = `fn a() { "${'\\"}'.repeat(500_000)}" }`
    expect(pruneToDeclarations(text)).toBe(`fn a() ${gone}`)
  })
})
