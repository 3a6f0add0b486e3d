import { describe, expect, it } from 'vitest'
import { loadCsvReader, loadCsvWriter } from '../../src/base/csv.ts'

const plain = { delimiter: ',', quote: '"', escape: '"', trim: false }
const read = await loadCsvReader()
const write = await loadCsvWriter()

describe('reading CSV', () => {
  it('accepts every kind of line ending, also mixed, and keeps those inside quotes', () => {
    expect(read('a,b\r\n1,"x\r\ny"\n2,z\r3,""', plain)).toEqual([
      ['a', 'b'],
      ['1', 'x\r\ny'],
      ['2', 'z'],
      ['3', ''],
    ])
  })

  it('skips a byte order mark and empty lines, but not a quoted empty cell', () => {
    expect(read('\uFEFFa\n\n""\n\r\nb\n', plain)).toEqual([['a'], [''], ['b']])
    expect(read('', plain)).toEqual([])
    expect(read('\uFEFF', plain)).toEqual([])
  })

  it('accepts bytes as well as text', () => {
    expect(read(new TextEncoder().encode('ü,"😀"'), plain)).toEqual([['ü', '😀']])
  })

  it('keeps quotes inside a cell', () => {
    expect(read('5" disk,say "hi"\nx"y"', plain)).toEqual([['5" disk', 'say "hi"'], ['x"y"']])
  })

  it('appends text after a closing quote to the cell', () => {
    expect(read('a\n"x"y,z\r\n"a,""b"" " c "d",""\n"q\nr"s"t,"u"', plain)).toEqual([
      ['a'],
      ['xy', 'z'],
      ['a,"b"  c "d"', ''],
      ['q\nrs"t', 'u'],
    ])
    expect(read('"""x"""\n"""x"y""', plain)).toEqual([['"x"'], ['"xy""']])
    expect(read("\uFEFF'it\\'s' so;x\n'a", { ...plain, quote: "'", escape: '\\', delimiter: ';', most: 1 })).toEqual([
      ["it's so", 'x'],
    ])
    expect(read('\n#"c\r\n\n# "d\n"a"b\n#\n"c"', { ...plain, comment: '#' })).toEqual([['ab'], ['c']])
  })

  it('accepts comments only at the start of a line', () => {
    expect(read('# "note\na#b,#c\n"#d",e\n#end', { ...plain, comment: '#' })).toEqual([
      ['a#b', '#c'],
      ['#d', 'e'],
    ])
  })

  it('trims cells, also around and inside quotes', () => {
    expect(read(' a ,\t" b, c "\n\u00A0d,', { ...plain, trim: true })).toEqual([
      ['a', 'b, c'],
      ['d', ''],
    ])
  })

  it('accepts other delimiters, also beyond ASCII', () => {
    const reading = { ...plain, delimiter: '→', quote: "'", escape: '\\' }
    expect(read("a→'it\\'s → \\\\'", reading)).toEqual([['a', "it's → \\"]])
  })

  it('stops after the requested number of rows', () => {
    expect(read('a\nb\n"never closed', { ...plain, most: 2 })).toEqual([['a'], ['b']])
  })

  it('reports the line of an unclosed quote', () => {
    expect(() => read('a,b\n\n# x\n1,"two\nlines\n', plain)).toThrow('a quote is not closed (line 4)')
    expect(() => read('\uFEFF"', plain)).toThrow('a quote is not closed (line 1)')
    expect(() => read('x\r\n"a" b', { ...plain, trim: true })).toThrow('there is text after a closing quote (line 2)')
  })
})

describe('writing CSV', () => {
  it('quotes only what needs it', () => {
    expect(write(['a', 'b,c', 'd "e"', 'f\ng', 'h\ri', ' j ', '#k', '=1+1', ''], plain)).toBe(
      'a,"b,c","d ""e""","f\ng","h\ri", j ,#k,=1+1,',
    )
    expect(write(['a;b', "c'd"], { delimiter: ';', quote: "'", escape: '\\' })).toBe("'a;b';'c\\'d'")
  })

  it('writes no empty line', () => {
    expect(write([''], plain)).toBe('""')
    expect(write([], plain)).toBe('""')
    expect(write(['', ''], plain)).toBe(',')
  })

  it.each([
    { delimiter: ',', quote: '"', escape: '"' },
    { delimiter: '\t', quote: "'", escape: '\\' },
  ])('survives a round trip: %o', (dialect) => {
    const rows = [['a', '"b"', "'c'", 'd\\', '\\"e', 'f\n\r\n', ',\t;'], [''], ['ü', '', '']]
    expect(read(rows.map((row) => write(row, dialect)).join('\n'), { ...dialect, trim: false })).toEqual(rows)
  })
})
