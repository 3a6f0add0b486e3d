// Records the cassettes of the pipelines again. This is necessary after a change to a text that models get: a prompt, the
// description of a tool, or the instructions of a mode. The answers of the models are defined here; quickstart and
// explain-repo are answered offline. Run `npm run build` first.
// node scripts/record-cassettes.mjs [PIPELINE...]
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const discount = 'src/discount.js'
const exact = 'cents - cents * percent / 100'
const guessed = 'cents - (cents * percent) / 100'
const edit = (path, before, after) => ['edit', { path, old_text: before, new_text: after }]
const read = (path) => ['read', { path }]

/** The steps of the task; the first `done` of them are completed. */
function todo(done) {
  const contents = ['Find where a price can become a fraction', 'Round it there', 'Check the code and the README']
  const statusOf = (index) => (index < done ? 'completed' : index === done ? 'in_progress' : 'pending')
  return ['todo', { todos: contents.map((content, index) => ({ content, status: statusOf(index) })) }]
}

/**
 * The answers of the model in each turn, and the tools it calls: it looks, makes a mistake, corrects it, and looks
 * again.
 */
const toolCoder = [
  [
    'I search for the code that computes prices.',
    todo(0),
    ['glob', { pattern: '**/*.{js,md}' }],
    ['grep', { pattern: 'cents|percent', path: 'src' }],
  ],
  ['', read('src/cart.js'), read(discount), read('README.md')],
  [
    'Both functions of src/cart.js use discounted(), so one change is enough.',
    edit(discount, `return ${guessed}`, `return Math.round(${guessed})`),
  ],
  [
    'The line in the file has no parentheses; I use it as it is.',
    edit(discount, `return ${exact}`, `return Math.round(${exact})`),
    edit('README.md', 'takes a discount off.', 'takes a discount off, rounded to whole cents.'),
  ],
  ['', ['grep', { pattern: 'Math\\.round|whole cents' }], read(discount), read('README.md'), todo(3)],
  [
    '`discounted` in src/discount.js now rounds with `Math.round`; both functions of src/cart.js use it. The README says that prices are rounded to whole cents.',
  ],
]

/** Programs: the first one has an error; the second one can use what the first one stored. */
const codeMode = [
  [
    `\`\`\`js
const paths = glob({ pattern: 'src/**/*.js' }).split('\\n').filter(Boolean)
const texts = parallel(paths.map((path) => ({ tool: 'read', input: { path } })))
store('files', paths.map((path, index) => ({ path, text: texts[index] })))
log(\`\${paths.length} files, \${total(texts)} lines\`)
\`\`\``,
  ],
  [
    `\`\`\`js
const rows = recall('files').flatMap(({ path, text }) =>
  [...text.matchAll(/^(\\d+)→.*export function (\\w+)/gm)].map(([, line, name]) => ({ name, place: \`\${path}:\${line}\` })),
)
const uses = parallel(rows.map(({ name }) => ({ tool: 'grep', input: { pattern: \`\\\\b\${name}\\\\(\`, output: 'files' } })))
const lines = rows.map(({ name, place }, index) => {
  const files = uses[index].split('\\n').filter((line) => line.endsWith('.js'))
  return \`| \${name} | \${place} | \${files.length > 1 ? 'yes' : 'no'} |\`
})
output(['| Function | Where | Called elsewhere |', '| --- | --- | --- |', ...lines.toSorted()].join('\\n'))
done()
\`\`\``,
  ],
]

/** The answer of each member, by its model; the other model merges them. */
const members = {
  high: 'src/cart.js adds prices as fractions, so sums are off by parts of a cent: count in whole cents. It has no tests: write them.',
  normal:
    'src/cart.js: `parseFloat` reads "12abc" as 12. Check its input. Sums of fractions are not exact: use whole cents.',
  fast: 'There are no tests. The sum in src/cart.js can be off by a fraction of a cent, so whole cents are better.',
}
const consensus = `1. Consensus: sums in src/cart.js are not exact; whole cents are.

2. Said by some: there are no tests (one, three). \`parseFloat\` reads "12abc" as 12 (two).

4. Answer: count in whole cents in src/cart.js, reject what is not a price there, and write tests for both.`

const spawn_agent = (message) => ['spawn_agent', { message, role: 'researcher' }]
const build = 'How is this project built and tested? Name the commands.'
const dependencies = 'Which parts does this project have, and how do they depend on each other?'

/** The answers of the leader, which knows its agents by the IDs that it was given, and the answers of the agents. */
function collabResearch(messages) {
  const text = JSON.stringify(messages)
  const [first, second] = [...text.matchAll(/agent_id\W+([0-9a-f-]{36})/g)].map(([, id]) => id)
  // an agent only gets its own question; the leader has asked both
  const own = [build, dependencies].filter((question) => text.includes(question))
  if (own.length === 1) {
    return own[0] === build
      ? [
          ['', read('package.json')],
          ['`npm test` runs `node --test` (package.json:1). There is no test file, so no test is run.'],
        ]
      : [
          ['src/cart.js uses another file.'],
          ['', ['grep', { pattern: 'import', path: 'src' }]],
          ['src/cart.js:1 imports `discounted` from src/discount.js; nothing imports src/cart.js.'],
        ]
  }
  return [
    ['Two questions, one agent each.', spawn_agent(build), spawn_agent(dependencies)],
    ['', ['wait', { ids: [first, second] }]],
    [
      'The second answer names no place.',
      ['send_input', { id: second, message: 'Where is this in the code? Name the path and line.' }],
    ],
    ['', ['wait', { ids: [second] }]],
    ['', ['close_agent', { id: first }], ['close_agent', { id: second }]],
    [
      'Run `npm test`, which is `node --test` (package.json:1); there is no test yet. src/cart.js:1 takes its prices from src/discount.js, so a change there changes all totals.',
    ],
  ]
}

const patch = (path, before, after) =>
  changes(`<FILE_PATCH file_path="${path}">\n@@\n-${before}\n+${after}\n</FILE_PATCH>`)
const whole = (path, content) => changes(`<FILE_NEW file_path="${path}">\n${content}\n</FILE_NEW>`)
const changes = (directive) => `\n\n<FILE_CHANGES>\n${directive}\n</FILE_CHANGES>`

/** The answers of a model in each iteration, from the last one, by a text that the one before has written. */
const refined = {
  'number >= value': `The numerals IV and IX were missing.${patch(
    'src/roman.js',
    "const numerals = [['X', 10], ['V', 5], ['I', 1]]",
    "const numerals = [['X', 10], ['IX', 9], ['V', 5], ['IV', 4], ['I', 1]]",
  )}`,
  '': `The loop stopped one too early.${patch('src/roman.js', '    while (number > value) {', '    while (number >= value) {')}`,
}
const sum = 'export const sum = (numbers) =>'
const scored = {
  'total + number, 0)': 'There is nothing left to do.',
  'total + number)': `It works for no numbers as well.${whole('src/sum.js', `${sum} numbers.reduce((total, number) => total + number, 0)`)}`,
  'total += number': `It uses reduce now.${whole('src/sum.js', `${sum} numbers.reduce((total, number) => total + number)`)}`,
  '': `It is an arrow function now.${whole(
    'src/sum.js',
    `${sum} {\n  let total = 0\n  for (const number of numbers) total += number\n  return total\n}`,
  )}`,
}
/** The answer of a model in each step, by a text of its prompt. */
const notes = {
  'Check the draft':
    '## Added\n\n- Uploads can have a limit: `upload(file, { limit: "5mb" })`.\n\n## Fixed\n\n- A failed upload no longer leaves its connection open.',
  'Write the release notes':
    '## Added\n\n- Uploads can have a limit.\n\n## Fixed\n\n- A failed upload no longer leaves its connection open.',
  'Add a limit': 'Added: uploads can have a limit, `upload(file, { limit: "5mb" })`.',
  'Move the tests': 'internal',
  'Close the connection': 'Fixed: a failed upload no longer leaves its connection open.',
}

/** The first answer whose key is in a message. */
function answerIn(answers, messages) {
  const text = messages.map(({ content }) => content).join('\n')
  return [[Object.entries(answers).find(([piece]) => text.includes(piece))?.[1] ?? '']]
}

/** The answer of a model in each turn; undefined if the offline model answers. */
const pipelines = {
  quickstart: undefined,
  'explain-repo': undefined,
  'iterate-refine': (_, messages) => answerIn(refined, messages),
  'iterate-score': (_, messages) => answerIn(scored, messages),
  'release-notes': (_, messages) => answerIn(notes, messages),
  'tool-coder': () => toolCoder,
  'code-mode': () => codeMode,
  'ensemble-consensus': (model) => [[members[model] ?? consensus]],
  'collab-research': (_, messages) => collabResearch(messages),
  'delegate-team': (model) => (model === 'example-model' ? leader : writer),
}

/** The answers of a team's leader in each turn, and of its worker. */
const leader = [
  ['', ['task_create', { items: [{ subject: 'Document in README.md what total takes and returns' }] }]],
  [
    '',
    ['spawn_agent', { role: 'Writer', message: 'Complete the items of the list.', description: 'write the README' }],
  ],
  ['The worker is working on it.'],
  ['', ['leave_delegate', {}]],
  ['README.md now says what `total` takes and returns.'],
]
const writer = [
  ['', ['task_claim', {}]],
  ['', read('src/cart.js'), read('README.md')],
  [
    '',
    edit(
      'README.md',
      'Adds prices up.',
      'Adds prices up: `total(prices)` takes a list of numbers and returns their sum.',
    ),
  ],
  ['', ['task_complete', { id: '1', note: 'one line on total' }]],
  ['', ['task_claim', {}]],
  ['I have completed #1.'],
]

function serverOf(turnsOf) {
  return createServer((request, response) => {
    textOf(request).then(
      (text) => answer(turnsOf, JSON.parse(text), response),
      (error) => response.destroy(error),
    )
  })
}

function answer(turnsOf, { messages, model }, response) {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const [text = '', ...calls] = turnsOf(model, messages)[turn] ?? []
  const send = (more) =>
    response.write(`data: ${JSON.stringify({ object: 'chat.completion.chunk', model, ...more })}\n\n`)
  const delta = (fields, finish = null) => send({ choices: [{ index: 0, delta: fields, finish_reason: finish }] })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (text !== '') delta({ content: text })
  for (const [index, [name, input]] of calls.entries()) {
    const called = { name, arguments: JSON.stringify(input) }
    delta({ tool_calls: [{ index, id: `call_${turn}_${index}`, type: 'function', function: called }] })
  }
  delta({}, calls.length > 0 ? 'tool_calls' : 'stop')
  send({ choices: [], usage: { prompt_tokens: 900 + 350 * turn, completion_tokens: 60 } })
  response.end('data: [DONE]\n\n')
}

async function textOf(stream) {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}

async function record(name, turnsOf) {
  const server = serverOf(turnsOf)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const model = turnsOf === undefined ? 'offline::extractive' : 'example-model'
  const args = ['dist/bin/baton.js', 'test', `pipelines/${name}.md`, '--record', '-c', `model=${model}`]
  const env = {
    PATH: process.env.PATH,
    BATON_HOME: mkdtempSync(join(tmpdir(), 'baton-record-')),
    BATON_GATEWAY_URL: `http://127.0.0.1:${server.address().port}/v1`,
    BATON_LOCAL_SERVERS: 'off',
  }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
  const code = await new Promise((resolve) => child.on('exit', resolve))
  server.close()
  return code ?? 1
}

const asked = process.argv.slice(2)
for (const [name, turnsOf] of Object.entries(pipelines)) {
  if (asked.length === 0 || asked.includes(name)) process.exitCode ||= await record(name, turnsOf)
}
