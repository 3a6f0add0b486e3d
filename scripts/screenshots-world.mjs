// The workspace and the model of the pictures that screenshots.mjs takes.

/** The files of the workspace, by path. */
export function files() {
  const cart = [
    "import type { Item } from './item.ts'",
    '',
    'export function total(items: readonly Item[]): number {',
    '  let sum = 0',
    '  for (const item of items) sum += item.price * item.count',
    '  return sum',
    '}',
    '',
    'export function countOf(items: readonly Item[]): number {',
    '  return items.length',
    '}',
    '',
  ].join('\n')
  return {
    'baton.toml': 'model = "gpt-5-mini"\n',
    'src/cart.ts': cart,
    'src/item.ts':
      'export interface Item {\n  readonly name: string\n  readonly price: number\n  readonly count: number\n}\n',
    'src/price.ts': 'export const currency = "EUR"\n',
    'src/user.ts': 'export interface User {\n  readonly name: string\n}\n',
    'fix.md':
      '+++\ntools = ["read", "grep", "edit"]\nwrite_mode = true\n+++\nThe number of items in the cart is wrong when something is bought twice. Find out why, and fix it.\n',
    'review.md': '+++\ntemplate = true\n+++\nReview the file {{input}} in two sentences.\n',
    'name.md': 'Suggest a name for the function that counts the items of a cart.\n',
    'discount.md':
      '+++\nwrite_mode = "ask"\ncontext_globs = ["src/cart.ts", "src/price.ts"]\n+++\nAdd a discount of ten percent above 100 euros.\n',
    'improve.md':
      '+++\nwrite_mode = true\ncontext_globs = ["notes.txt"]\n[iterate]\ncondition = "3"\nscore = "wc -l < notes.txt"\n+++\nImprove the notes by one fact.\n',
    'notes.txt': 'A cart has items.\n',
    'count.lua':
      'local text = aip.file.load("notes.txt").content\nlocal _, count = text:gsub("\\n", "")\nreturn count .. " notes"\n',
    'count.md':
      '+++\nagent = "count.lua"\n\n[[test]]\nname = "counts each line"\nfiles = { "notes.txt" = "a\\nb\\n" }\nexpect = [{ answer_contains = "2 notes" }]\n\n[[test]]\nname = "finds none in an empty file"\nfiles = { "notes.txt" = "" }\nexpect = [{ answer_contains = "no notes" }]\n+++\nCount the notes.\n',
    'translate.md':
      '+++\nname = "Translate a file"\ndescription = "Translates a text of the shop, and keeps its names."\nwrite_mode = true\n\n[input.file]\ndescription = "The file to translate"\nrequired = true\n\n[input.language]\nenum = ["German", "French", "Spanish"]\nrequired = true\n\n[input.tone]\nenum = ["formal", "friendly"]\ndefault = "friendly"\n\n[input.words]\ntype = "integer"\ndescription = "At most so many words"\n+++\nTranslate {{input.file}} into {{input.language}}, in a {{input.tone}} tone.\n',
  }
}

/** The user's config: prices, because a gateway has none that are known, and triggers. */
export const config = `[prices]
"gpt-5-mini" = { input = 2.5, output = 20 }

[[trigger]]
name = "nightly-review"
file = "name.md"
cron = "0 3 * * 1-5"
time_zone = "Europe/Berlin"

[[trigger]]
name = "notes"
file = "count.md"
files = ["notes.txt"]

[[trigger]]
name = "discount"
file = "discount.md"
secret_env = "SHOP_SECRET"

[[trigger]]
name = "report"
file = "report.md"
cron = "@weekly"
`

/** The variable with the secret of the webhook. */
export const secrets = { SHOP_SECRET: 'a secret that only this picture has' }

/** What the scripted model says: by the words of the last message, and how far the conversation is since. */
export function reply({ body }, index) {
  const texts = body.messages.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
  const asked = texts.findLast((_, index) => body.messages[index].role === 'user') ?? ''
  const step = body.messages.slice(body.messages.findLastIndex(({ role }) => role === 'user') + 1)
  const turn = step.filter(({ role }) => role === 'tool').length
  const call = (name, input) => ({ id: `call_${turn}`, name, pieces: [JSON.stringify(input)] })
  const usage = (input, output) => ({ prompt_tokens: input, completion_tokens: output })
  const calls = (text, ...toolCalls) => ({
    text,
    toolCalls,
    finish: 'tool_calls',
    delayMs: 250,
    usage: usage(1_900 + 600 * turn, 90),
  })
  if (asked.includes('when something is bought twice')) {
    const steps = [
      () => calls('I look for where the items are counted.', call('grep', { pattern: 'countOf|count', path: 'src' })),
      () => calls('', call('read', { path: 'src/cart.ts' })),
      () =>
        calls(
          '`countOf` counts the lines of the cart, not the items.',
          call('edit', {
            path: 'src/cart.ts',
            old_text: '  return items.length\n',
            new_text: '  return items.reduce((sum, { count }) => sum + count, 0)\n',
          }),
        ),
    ]
    return steps[turn]?.() ?? { text: fixed, delayMs: 400, usage: usage(4_300, 120) }
  }
  if (asked.includes('Review the file')) {
    const name = /src\/\w+\.ts/.exec(asked)?.[0] ?? 'The file'
    const delayMs = 200 + 150 * (name.length % 4)
    if (name === 'src/user.ts') return { status: 400, body: { error: { message: 'the request was refused' } } }
    return { text: `\`${name}\` is short and clear. A test of its edges is missing.`, delayMs, usage: usage(900, 40) }
  }
  if (asked.includes('counts the items')) {
    const isShort = asked.includes('in one word')
    return isShort
      ? {
          text: 'The name should say what is counted.\n\n**quantity**\n\nIt is the word of the trade.',
          delayMs: 200,
          usage: usage(120, 24),
        }
      : {
          text: 'The name should say what is counted.\n\n**numberOfItems**\n\nIt reads well where it is called.',
          delayMs: 500,
          usage: usage(110, 38),
        }
  }
  if (asked.includes('discount')) return { text: discount, delayMs: 200, usage: usage(1_400, 160) }
  if (asked.includes('the notes')) {
    const fact = `Fact ${index + 1}: an item has a price.\n`
    return {
      text: `One more fact.\n\n<FILE_CHANGES>\n<FILE_APPEND file_path="notes.txt">\n${fact}</FILE_APPEND>\n</FILE_CHANGES>`,
      delayMs: 150,
      usage: usage(700, 60),
    }
  }
  return {
    text: 'It sums price times count over all items, so an empty cart costs nothing.',
    delayMs: 150,
    usage: usage(2_000, 30),
  }
}

const fixed = `**\`countOf\` counted the lines of the cart**, so an item that is bought twice was counted once.

It now adds up the counts:

- \`src/cart.ts\`: \`countOf\` sums \`count\` over all items
- \`total\` was right, and is unchanged
`

const discount = `Orders above **100 euros** get ten percent off.

The limit is a constant beside the currency, so that it can be changed in one place.

<FILE_CHANGES>
<FILE_PATCH file_path="src/cart.ts">
@@
-  return sum
+  return sum > discountAbove ? sum * 0.9 : sum
</FILE_PATCH>
<FILE_PATCH file_path="src/price.ts">
@@
 export const currency = "EUR"
+export const discountAbove = 100
</FILE_PATCH>
</FILE_CHANGES>`
