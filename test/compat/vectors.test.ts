import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** The number of vectors that describe AIPack's format (docs/compat.md), numbered from 1. */
const count = 91

type Files = { readonly [file: string]: readonly string[] }

/** The tests of each vector: `1` or `32-34`, then per file the titles. */
const covered: { readonly [vectors: string]: Files } = {
  '1': { 'prompt/aip': ['name the roles of prompt parts in any case (vector 1)'] },
  '2': { 'prompt/aip': ['need no space (vector 2)'] },
  '3': { 'prompt/aip': ['are ignored inside fences (vector 3)'] },
  '4': { 'prompt/aip': ['end a part even if they are unknown, and hide the text below (vector 4)'] },
  '5': { 'prompt/aip': ['may contain shorter fences (vector 5)'] },
  '6': { 'prompt/aip': ['start parts that keep their order (vector 6)'] },
  '7': { 'prompt/aip': ['of repeated headings is one script with the line numbers of the file (vector 7)'] },
  '8': { 'compat/vectors-format': ['8: the part option %j marks the message as %s'] },
  '9': { 'compat/vectors-format': ['9: the part option %s is an error at its heading'] },
  '10': { 'pack/resolve': ['%s among %j'] },
  '11': { 'pack/resolve': ['%s is %s (vector 11)'] },
  '12': { 'pack/find-pack': ['prefers %s over everything after it (vector 12)'] },
  '13': { 'pack/pack-ref': ['parses %s (vector 13)'] },
  '14': {
    'pack/pack-ref': ['refuses "%s" (vector 14)'],
    'compat/vectors-format': ['14: a reference without a namespace is valid here, all the others are invalid'],
  },
  '15': { 'pack/pack-ref': ['refuses %s (vector 15)'] },
  '16': { 'pack/pack-ref': ['refuses %s (vector 16)'] },
  '17': {
    'prompt/aip': ['are one TOML document (vector 17)'],
    'config/aipack-config': ['are parsed as written (vector 17)'],
    'compat/vectors-format': ['17: Options are read, and omitted ones are nil'],
  },
  '18': {
    'agent/options': ['are passed with what the model %s stands for: %s (vector 18)'],
    'compat/model-names': ['the model %s is requested as %s, and scripts see both names'],
  },
  '19': { 'compat/vectors-format': ['19: before_all_response is a table with its kind and its data'] },
  '20': { 'compat/vectors-format': ['20: skip contains the reason, if any'] },
  '21': { 'compat/vectors-format': ['21: redo_run is a table of kind Redo'] },
  '22': { 'agent/aip-agent': ['can transform inputs in Before All, and keeps outputs in input order (vector 22)'] },
  '23': { 'agent/aip-agent': ['passes a plain Before All value to Data and Output (vector 23)'] },
  '24': { 'agent/aip-agent': ['replaces input, data and options with a data response (vector 24)'] },
  '25': { 'agent/aip-agent': ['returns null for an input that Data skips by %s (vector 25)'] },
  '26': { 'agent/aip-agent': ['runs neither tasks nor After All when Before All skips (vector 26)'] },
  '27': { 'agent/aip-agent': ['refuses in %s %s (vector 27)'] },
  '28': { 'agent/aip-agent': ['names unknown keys of a response (vector 28)'] },
  '29': { 'agent/aip-agent': ['runs one task with a nil input for an empty list of inputs (vector 29)'] },
  '30': { 'agent/aip-agent': ['continues after a failed input if configured (vector 30)'] },
  '31': { 'agent/aip-agent': ['otherwise fails and does not run After All (vector 31)'] },
  '32-34': { 'compat/vectors-text': ['32, 33, 34: split_first and split_last'] },
  '35-37': { 'compat/vectors-text': ['35, 36, 37: split_first_line and split_last_line'] },
  '38': { 'compat/vectors-text': ['38: ensure'] },
  '39-40': { 'compat/vectors-text': ['39, 40: extract_line_blocks with and without the rest'] },
  '41': { 'compat/vectors-text': ['41: every function returns nil for nil'] },
  '42': { 'compat/vectors-text': ['42: format_size'] },
  '43': { 'compat/vectors-text': ['43: remove_last_line'] },
  '44': { 'compat/vectors-text': ['44: parent'] },
  '45-46': { 'compat/vectors-text': ['45, 46: join'] },
  '47': { 'compat/vectors-text': ['47: split'] },
  '48': { 'compat/vectors-files': ['48: save writes %j with %j as %j'] },
  '49': { 'compat/vectors-files': ['49: save refuses .. and allows the support folder of the base'] },
  '50': { 'compat/vectors-files': ['50: ensure_dir reports whether it created the folder, and fails on a file'] },
  '51': { 'compat/vectors-files': ['51: exists for folders, files of packs and missing packs'] },
  '52': { 'compat/vectors-files': ['52: list omits what a glob excludes, also with absolute paths'] },
  '53': { 'compat/vectors-files': ['53: list returns paths relative to base_dir'] },
  '54': { 'script/host/data': ['appends lines of JSON with sorted keys (vector 54)'] },
  '55': {
    'tool/changes/search-replace': ['replaces the first occurrence in the result of the previous block (vector 55)'],
  },
  '56': {
    'tool/changes/search-replace': ['uses text without marker lines as the whole content (vector 56)'],
    'script/host/udiffx': ['saves text without blocks as the whole file, which may be new (vector 56)'],
  },
  '57': {
    'tool/changes/search-replace': [
      'inserts at the start for an empty search and removes for an empty replacement (vector 57)',
    ],
  },
  '58': {
    'tool/changes/search-replace': ['counts blocks that are not found (vector 58)'],
    'script/host/udiffx': ['saves the result of the blocks for a file, and returns failures (vector 58)'],
  },
  '59': { 'tool/changes/search-replace': ['refuses text around blocks and missing markers (vector 59)'] },
  '60': { 'script/host/csv': ['60: removes quotes'] },
  '61': { 'script/host/csv': ['61: skips comments and empty lines, and returns strings'] },
  '62': { 'script/host/csv': ['62: returns columns under the keys of their labels'] },
  '63': { 'script/host/csv': ['63: writes values as one line'] },
  '64': { 'script/host/csv': ['64: writes lists as a list of lines'] },
  '65': { 'script/host/tag': ['returns elements in text order, and the rest on request (vector 65)'] },
  '66': { 'script/host/tag': ['returns the last, or all, of each name (vector 66)'] },
  '67': { 'compat/vectors-data': ['67: extract_blocks of one language keeps the others in the rest'] },
  '68': { 'compat/vectors-data': ['68: extract_meta merges two blocks and removes both from the text'] },
  '69': { 'compat/vectors-data': ['69: extract_refs describes what %s refers to'] },
  '70': { 'compat/vectors-data': ['70: extract_refs skips code, and returns an empty list for nil'] },
  '71': {
    'compat/vectors-data': ['71: outer_block_content_or_raw ends at the last fence, and preserves text before a fence'],
  },
  '72': { 'compat/vectors-files': ['72: load_md_sections by heading'] },
  '73': { 'compat/vectors-files': ['73: load_md_split_first returns parts that rebuild the text'] },
  '74': { 'compat/vectors-data': ['74: json.parse accepts comments, returns nil for nil, and reports errors'] },
  '75': { 'compat/vectors-data': ['75: parse_ndjson skips blank lines and names an invalid line'] },
  '76': { 'script/host/semver': ['compares %s %s %s (vector 76)'] },
  '77': {
    'script/host/semver': [
      'parses a version (vector 77)',
      'recognizes pre-releases by their hyphen, not by build metadata (vector 77)',
      'requires all three numbers and nothing else',
    ],
  },
  '78': { 'script/host/hash': ['returns digests in four forms (vector 78)'] },
  '79': { 'script/host/hbs': ['79: fills in values, also nested ones'] },
  '80': { 'script/host/html': ['writes Markdown (vector 80)'] },
  '81': { 'script/host/html': ['returns tag, attributes and content of elements (vector 81)'] },
  '82': {
    'script/host/code': [
      'writes a comment in the syntax of the language (vector 82)',
      'trims the extension and ignores case, but does not change the text',
    ],
  },
  '83': { 'compat/vectors-data': ['83: merge and merge_deep modify their first table and return it'] },
  '84': { 'script/host/shape': ['84: to_record uses as many as there are of both'] },
  '85': {
    'script/host/shape': ['85: record_to_values sorts by key, or uses names with null for missing ones'],
  },
  '86': {
    'script/host/shape': ['86: columns of different lengths are an error, and a key missing in one record is omitted'],
  },
  '87': { 'script/host/shape': ['87: remove_keys counts the removed ones, extract_keys moves them'] },
  '88': { 'script/host/web': ['resolves a link (vector 88)'] },
  '89': { 'compat/vectors-format': ['89: over %s, %s is %s'] },
  '90': { 'compat/vectors-format': ['90: %s may be installed: %s'] },
  '91': {
    'compat/vectors-format': [
      '91: %s is read',
      '91: an http address is an archive',
      '91: git://h/t/p.git%s is refused',
    ],
  },
}

/** Vectors whose tests require something other than AIPack's result; docs/compat.md "In numbers" gives the reasons. */
const different: readonly number[] = [14, 49, 63]

/** `32-34` as 32, 33 and 34. */
function numbersOf(vectors: string): readonly number[] {
  const [first = 0, last = first] = vectors.split('-').map(Number)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** Whether the source contains a test, or a table of tests, with this title. */
function hasTest(source: string, title: string): boolean {
  const call = /(?:\bit|\))\($/
  return ["'", '"', '`'].some((quote) => {
    const at = source.indexOf(`${quote}${title}${quote}`)
    return at !== -1 && call.test(source.slice(0, at).trimEnd())
  })
}

it('every vector of the format has a test', () => {
  const numbers = Object.keys(covered).flatMap(numbersOf)
  expect(numbers.toSorted((left, right) => left - right)).toEqual(
    Array.from({ length: count }, (_, index) => index + 1),
  )
})

it('docs/compat.md names the vectors with differences', () => {
  const section = readFileSync(join(root, 'docs/compat.md'), 'utf8').split('### In numbers')[1]?.split('\n## ')[0] ?? ''
  expect(section).toContain(`${count} vectors`)
  expect([...section.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => Number(number))).toEqual(different)
})

it('the tests of the vectors exist', () => {
  const missing = Object.entries(covered).flatMap(([vectors, files]) =>
    Object.entries(files).flatMap(([file, titles]) => {
      const path = join(root, `test/${file}.test.ts`)
      const source = existsSync(path) ? readFileSync(path, 'utf8') : ''
      return titles.filter((title) => !hasTest(source, title)).map((title) => `${vectors}: ${file} › ${title}`)
    }),
  )
  expect(missing).toEqual([])
})

it('hasTest finds calls and tables, but no groups or other text', () => {
  const source = "describe('group', () => {\n it('one', f)\n it.each([\n 1,\n])(\n  'each %s', f)\n expect('text')\n})"
  expect(['one', 'each %s', 'group', 'text', 'two'].map((title) => hasTest(source, title))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
