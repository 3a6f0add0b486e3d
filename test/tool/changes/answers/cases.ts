/** An answer, the files it is applied to, and the expected result. */
export interface AnswerCase {
  readonly title: string
  readonly before: Readonly<Record<string, string>>
  readonly answer: string
  /** Files that are created, changed or (undefined) deleted. */
  readonly after: Readonly<Record<string, string | undefined>>
  /** Why nothing may be done: the fault of a directive, or `refused` for one that does not fit. */
  readonly fault?: string
}

/** Reads the cases of a text file; the head of the file explains their format. */
export function readCases(text: string): readonly AnswerCase[] {
  return text
    .split(/^%% case /m)
    .slice(1)
    .map(readCase)
}

function readCase(text: string): AnswerCase {
  const [title = '', ...sections] = text.split(/^%% /m)
  const before: Record<string, string> = {}
  const after: Record<string, string | undefined> = {}
  let answer = ''
  let fault: string | undefined
  for (const section of sections) {
    const [, kind = '', name = '', content = ''] = /^(\w+) ?([^\n]*)\n([^]*)$/.exec(section) ?? []
    if (kind === 'file') before[name] = content
    else if (kind === 'answer') answer = content
    else if (kind === 'after') after[name] = content
    else if (kind === 'gone') after[name] = undefined
    else fault = name
  }
  return { title: title.trim(), before, answer, after, ...(fault === undefined ? {} : { fault }) }
}

interface Form {
  readonly name: string
  /** Changes `src/a.ts` (`one`, `two`, `three`, each on a line) to hold `TWO` in the middle. */
  readonly text: string
  /** The form has its own fence, or is recognized by the path above it, and cannot be put into another fence. */
  readonly isFenced?: true
}

const patch = '@@\n one\n-two\n+TWO\n three\n'
const block = '<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n'
const diff = `--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n`

const forms: readonly Form[] = [
  {
    name: 'angles',
    text: `<FILE_CHANGES>\n<FILE_PATCH file_path="src/a.ts">\n${patch}</FILE_PATCH>\n</FILE_CHANGES>\n`,
  },
  {
    name: 'brackets',
    text: `[[[FILE_CHANGES]]]\n[[[FILE_PATCH file_path="src/a.ts"]]]\n${patch}[[[/FILE_PATCH]]]\n[[[/FILE_CHANGES]]]\n`,
  },
  {
    name: 'the newer container, two brackets',
    text: `[[[UDIFFX_FILE_CHANGES]]\n[[[FILE_PATCH file_path="src/a.ts"]]\n${patch}[[[/FILE_PATCH]]\n[[[/UDIFFX_FILE_CHANGES]]\n`,
  },
  { name: 'a directive alone', text: `<FILE_PATCH file_path="src/a.ts">\n${patch}</FILE_PATCH>\n` },
  { name: 'a whole file', text: '<FILE_NEW file_path="src/a.ts">\none\nTWO\nthree\n</FILE_NEW>\n' },
  {
    name: 'a whole-file block',
    text: '<AIP_FILE_CHANGE file_path="src/a.ts">\n````ts\none\nTWO\nthree\n````\n</AIP_FILE_CHANGE>\n',
  },
  {
    name: 'parts in a block',
    text: `<AIP_FILE_CHANGE file_path="src/a.ts">\n\`\`\`\`ts\n${block}\`\`\`\`\n</AIP_FILE_CHANGE>\n`,
  },
  { name: 'search and replace in a fence', text: `src/a.ts\n\`\`\`ts\n${block}\`\`\`\n`, isFenced: true },
  { name: 'search and replace with the path inside', text: `\`\`\`\nsrc/a.ts\n${block}\`\`\`\n`, isFenced: true },
  { name: 'search and replace without a fence', text: `src/a.ts\n${block}`, isFenced: true },
  { name: 'a unified diff', text: `\`\`\`diff\n${diff}\`\`\`\n`, isFenced: true },
  {
    name: 'a git diff',
    text: `\`\`\`\ndiff --git a/src/a.ts b/src/a.ts\nindex 1..2 100644\n${diff}\`\`\`\n`,
    isFenced: true,
  },
]

type Outcome = 'applied' | 'fenced' | 'quoted' | 'nothing'

interface Dressing {
  readonly name: string
  readonly dress: (text: string) => string
  readonly outcome: Outcome
  /** Only for forms without their own fence. */
  readonly isFence?: true
  readonly before?: string
  readonly after?: string
}

const content = 'one\ntwo\nthree\n'
const changed = 'one\nTWO\nthree\n'

const dressings: readonly Dressing[] = [
  { name: 'alone', dress: (text) => text, outcome: 'applied' },
  { name: 'prose around', dress: (text) => `I make it larger.\n\n${text}\nAll done, 100%.\n`, outcome: 'applied' },
  { name: 'a heading and a list', dress: (text) => `## Plan\n\n- read\n- write\n\n${text}`, outcome: 'applied' },
  {
    name: 'a code sample before it',
    dress: (text) => `As in:\n\n\`\`\`ts\ntwo()\n\`\`\`\n\n${text}`,
    outcome: 'applied',
  },
  {
    name: 'a code sample behind it',
    dress: (text) => `${text}\nUse it:\n\n~~~sh\nnpm test\n~~~\n`,
    outcome: 'applied',
  },
  { name: 'CRLF', dress: (text) => text.replaceAll('\n', '\r\n'), outcome: 'applied' },
  {
    name: 'CRLF in the file',
    dress: (text) => text,
    outcome: 'applied',
    before: 'one\r\ntwo\r\nthree\r\n',
    after: 'one\r\nTWO\r\nthree\r\n',
  },
  { name: 'no line break at the end', dress: (text) => text.trimEnd(), outcome: 'applied' },
  { name: 'empty lines around', dress: (text) => `\n\n\n${text}\n\n\n`, outcome: 'applied' },
  { name: 'reasoning before it', dress: (text) => `<think>\nTwo it is.\n</think>\n\n${text}`, outcome: 'applied' },
  {
    name: 'the same in reasoning before it',
    dress: (text) => `<thinking>\n${text}</thinking>\n${text}`,
    outcome: 'applied',
  },
  {
    name: 'a mention before it',
    dress: (text) => `I use \`<FILE_CHANGES>\` and \`<FILE_NEW file_path="x">\`.\n\n${text}`,
    outcome: 'applied',
  },
  { name: 'emoji and other scripts around', dress: (text) => `好的 👍 — “да”:\n\n${text}\n✅`, outcome: 'applied' },
  {
    name: 'a byte order mark in the file',
    dress: (text) => text,
    outcome: 'applied',
    before: `\uFEFF${content}`,
    after: `\uFEFF${changed}`,
  },
  {
    name: 'a quotation of the form before it',
    dress: (text) => `\`\`\`\`\`md\nThe form:\n<FILE_DELETE file_path="src/a.ts" />\n\`\`\`\`\`\n\n${text}`,
    outcome: 'applied',
  },
  {
    name: 'a comment before it',
    dress: (text) => `<!--\n<FILE_DELETE file_path="src/a.ts" />\n-->\n${text}`,
    outcome: 'applied',
  },
  {
    name: 'in a fence and nothing else',
    dress: (text) => `\`\`\`xml\n${text}\`\`\`\n`,
    outcome: 'applied',
    isFence: true,
  },
  { name: 'in a fence that is not closed', dress: (text) => `~~~\n${text}`, outcome: 'applied', isFence: true },
  {
    name: 'in a fence behind reasoning',
    dress: (text) => `<think>hm</think>\n\`\`\`\`\`\n${text}\`\`\`\`\`\n`,
    outcome: 'applied',
    isFence: true,
  },
  {
    name: 'in a fence beside prose',
    dress: (text) => `Here:\n\n\`\`\`xml\n${text}\`\`\`\n`,
    outcome: 'fenced',
    isFence: true,
  },
  { name: 'in a fence with prose', dress: (text) => `\`\`\`\`\`md\n# How\n\n${text}\`\`\`\`\`\n`, outcome: 'quoted' },
  { name: 'quoted', dress: (text) => text.replaceAll(/^/gm, '> '), outcome: 'quoted' },
  { name: 'indented', dress: (text) => text.replaceAll(/^/gm, '    '), outcome: 'quoted' },
  { name: 'only in reasoning', dress: (text) => `<think>\n${text}</think>\nNothing to do.\n`, outcome: 'nothing' },
  { name: 'only in a comment', dress: (text) => `<!--\n${text}-->\nNothing to do.\n`, outcome: 'nothing' },
]

/** Each form in each wrapping that models give it. */
export const builtCases: readonly AnswerCase[] = dressings.flatMap(({ name, dress, outcome, isFence, before, after }) =>
  forms
    .filter((form) => isFence !== true || form.isFenced !== true)
    .map((form): AnswerCase => {
      const fault = { applied: undefined, nothing: undefined, fenced: 'fenced', quoted: 'any' }[outcome]
      return {
        title: `${form.name}, ${name}`,
        before: { 'src/a.ts': before ?? content },
        answer: dress(form.text),
        after: outcome === 'applied' ? { 'src/a.ts': after ?? changed } : {},
        ...(fault === undefined ? {} : { fault }),
      }
    }),
)
