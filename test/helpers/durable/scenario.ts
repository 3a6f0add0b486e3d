import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tempTree } from '../temp.ts'

/** Set by `npm run soak`, which tries all points of a large run; `npm test` tries some points of a small one. */
const isWhole = process.env['BATON_DURABLE'] === 'whole'

/** How many tasks the scenario has, four at a time; each changes one file with one model call. */
export const taskCount = isWhole ? 20 : 8

/** Model calls of an uninterrupted run: one before the tasks, one for each task, one after them. */
export const callCount = taskCount + 2

/** Where one run of the scenario takes place. `outside` is not compared: the command leaves its traces there. */
export interface World {
  readonly workspace: string
  readonly home: string
  readonly outside: string
}

const numbersTo = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => String(index).padStart(2, '0'))

/**
 * Four stages and some tasks, four at a time. `take` loads and deletes a file before it pays for a call; `finish`
 * appends, runs a command and pays for a call in one section; the main agent changes a file in each task, and `log`
 * appends a line for it.
 */
export const scenarioOf = (tasks: number): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(numbersTo(tasks).map((number) => [`src/f${number}.txt`, `name: f${number}\nstate: raw\n`])),
  'baton.toml': '',
  'inbox/wish.txt': 'blue paint',
  'ask.md': `+++
model = "gpt-5-mini"
input_concurrency = 4
write_mode = true
working_globs = ["src/*.txt"]
sub_agents = [
  { name = "agents/take.lua", stage = "pre" },
  { name = "agents/each.lua", stage = "pre_task" },
  { name = "agents/log.lua", stage = "post_task" },
  { name = "agents/finish.lua", stage = "post" },
]
+++
Set the state.
`,
  'agents/take.lua': `
local wish = aip.file.load("inbox/wish.txt").content
aip.file.delete("inbox/wish.txt")
print("took " .. wish)
local answer = aip.agent.run("think.aip", { input = "wish " .. wish })
return { coder_params_patch = { plan = answer.outputs[1] } }
`,
  'agents/think.aip': `# Options

\`\`\`toml
model = "gpt-5-mini"
\`\`\`

# User

Think about: {{input}}

# Output

\`\`\`lua
return ai_response.content
\`\`\`
`,
  'agents/each.lua': `
return { coder_prompts_append = "Plan: " .. input.coder_params.plan .. ". Task " .. input.task.label .. "." }
`,
  'agents/log.lua': `
aip.file.append("out/log.txt", input.task.label .. "\\n")
aip.task.set_label("logged " .. input.task.label)
return { agent_result = input.task.index }
`,
  'agents/finish.lua': `
aip.file.append("out/finished.txt", #input.coder_responses .. " answers\\n")
aip.cmd.exec("sh", { "-c", "echo ran >> ../outside/commands.txt" })
local sum = aip.agent.run("think.aip", { input = "the sum" })
aip.file.save("out/report.txt", sum.outputs[1])
print("finished")
return { agent_result = sum.outputs[1] }
`,
})

/** A fresh copy of the scenario. */
export function makeWorld(): World {
  return makeWorldOf(scenarioOf(taskCount), tempTree())
}

/** A workspace with these files below a folder. */
export function makeWorldOf(files: Readonly<Record<string, string>>, root: string): World {
  const world = { workspace: join(root, 'work'), home: join(root, 'home'), outside: join(root, 'outside') }
  for (const folder of [world.outside, world.home]) mkdirSync(folder, { recursive: true })
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(world.workspace, path)), { recursive: true })
    writeFileSync(join(world.workspace, path), content)
  }
  return world
}

const editCount = 4
const editNumbers = numbersTo(editCount)

/**
 * A scenario for changing files: each answer is a set of four changes, and a script makes five more kinds. Four model
 * calls, two at a time.
 */
const editFiles: Readonly<Record<string, string>> = {
  'baton.toml': '',
  ...Object.fromEntries(
    editNumbers.flatMap((number) => [
      [`src/e${number}.txt`, `name: e${number}\nstate: raw\n`],
      [`notes/e${number}.txt`, `begun ${number}\n`],
      [`old/e${number}.txt`, `old ${number}\n`],
    ]),
  ),
  'todo.txt': 'later\n',
  'draft/a.txt': 'a\n',
  'draft/b/c.txt': 'c\n',
  'plan.txt': 'one\ntwo\nthree\nfour\nfive\n',
  'ask.md': `+++
model = "gpt-5-mini"
input_concurrency = 2
write_mode = true
working_globs = ["src/*.txt"]
sub_agents = [
  { name = "agents/each.lua", stage = "pre_task" },
  { name = "agents/tidy.lua", stage = "post" },
]
+++
Edit the files.
`,
  // each task sees only its own files: its request does not depend on the progress of the others
  'agents/each.lua': `
local name = input.task.label:match("e%d%d")
return {
  coder_prompts_append = "Edit set " .. input.task.label .. ".",
  coder_params_patch = { context_globs = { "notes/" .. name .. ".txt", "old/" .. name .. ".txt" } },
}`,
  'agents/tidy.lua': `
aip.file.move("todo.txt", "done/todo.txt")
aip.file.delete("draft")
aip.file.save("plan.txt", "one\\ntwo\\n3\\nfour\\nfive\\n")
aip.file.append("plan.txt", "six\\n")
aip.file.save("made/deep/new.txt", "new\\n")
print("tidied")
`,
}

/** The number of its model calls. */
export const editCallCount = editCount

/** A fresh copy of the scenario for file changes. */
export function makeEditWorld(): World {
  return makeWorldOf(editFiles, tempTree())
}

/** The answers whose changes are applied only in part, as path lists. */
export function halfMadeSets(files: Readonly<Record<string, string>>): readonly string[] {
  return editNumbers.flatMap((number) => {
    const made = [
      files[`src/e${number}.txt`]?.includes('state: set') === true,
      files[`notes/e${number}.txt`]?.includes('edited') === true,
      files[`old/e${number}.txt`] === undefined,
      files[`out/e${number}.txt`] !== undefined,
    ]
    return new Set(made).size === 1 ? [] : [`e${number}: ${made.join()}`]
  })
}

function editAnswer(name: string): string {
  return `Edited ${name}.

<FILE_CHANGES>
<FILE_PATCH file_path="src/${name}.txt">
@@
-state: raw
+state: set
</FILE_PATCH>
<FILE_APPEND file_path="notes/${name}.txt">
edited
</FILE_APPEND>
<FILE_DELETE file_path="old/${name}.txt" />
<FILE_NEW file_path="out/${name}.txt">
new
</FILE_NEW>
</FILE_CHANGES>`
}

/** The model's answer to a prompt; depends only on the prompt. */
export function answerTo(prompt: string): string {
  const edited = /Edit set \S*?(e\d\d)\S*\./.exec(prompt)?.[1]
  if (edited !== undefined) return editAnswer(edited)
  const thought = /Think about: (.*)/.exec(prompt)?.[1]
  if (thought !== undefined) return `thought of ${thought}`
  const [, plan = '', name = ''] = /Plan: (.*)\. Task \S*?(f\d\d)\S*\./.exec(prompt) ?? []
  return `I painted ${name}.

<FILE_CHANGES>
<FILE_PATCH file_path="src/${name}.txt">
@@
-state: raw
+state: ${plan}
</FILE_PATCH>
</FILE_CHANGES>`
}
