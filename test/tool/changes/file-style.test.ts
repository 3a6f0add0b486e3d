import { expect, it } from 'vitest'
import { textsInStyle } from '../../../src/tool/changes/file-style.ts'
import { parseHunks } from '../../../src/tool/changes/hunk.ts'
import { toDocument } from '../../../src/tool/changes/lines.ts'

/** The texts of a hunk whose context and removed lines are the lines of the file, in order. */
function inStyle(file: string, patch: string, hasOtherMarks = false): readonly string[] | undefined {
  const [hunk] = parseHunks(patch)
  if (hunk === undefined) throw new Error('a patch has a hunk')
  let next = 0
  const at = hunk.lines.map(({ kind }) => (kind === 'add' ? undefined : next++))
  return textsInStyle(hunk, { at, lines: toDocument(file).lines, hasOtherMarks })
}

it('indents added lines as the file does, with its tabs or spaces', () => {
  expect(inStyle('\tif (x) {\n\t}\n', ' if (x) {\n+  go()\n }\n')).toEqual(['\tif (x) {', '\t  go()', '\t}'])
  expect(inStyle('\ta {\n\t\tb\n', '   a {\n+    c\n     b\n')?.[1]).toBe('\t\tc')
})

it('keeps the spaces and words of the file in what replaces them', () => {
  expect(inStyle('10\u00A0km and more\n', '-10 km and more\n+10 km and less\n')?.[1]).toBe('10\u00A0km and less')
})

it('writes quotes and entities like the file, unless that is not clear', () => {
  expect(inStyle('say “yes”\n', '-say "yes"\n+say "no"\n', true)?.[1]).toBe('say “no”')
  expect(inStyle('<p>\n', '-&lt;p&gt;\n+&lt;b&gt;\n', true)?.[1]).toBe('<b>')
  expect(inStyle("it's ‘so’\n", "-it's 'so'\n+don't 'be' it's\n", true)).toBeUndefined()
})
