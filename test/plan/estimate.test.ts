import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isJsonObject, type Json } from '../../src/base/json.ts'
import { readRun } from '../../src/journal/source.ts'
import { startRun } from '../../src/runner.ts'
import { type PlanCall, planIn, workspaceOf } from './helpers.ts'

const source = 'export const answer = 42\n'.repeat(40)

/** The estimates that a run reserved, in the order of its requests. */
async function estimatesOfRun(folder: string, { file = 'ask.md', inputs = [], vars = [] }: PlanCall): Promise<Json[]> {
  const state = join(folder, '.state')
  await startRun(file, { cwd: folder, env: { BATON_HOME: state }, home: folder, inputs, vars }, () => {})
  const names = readdirSync(state, { recursive: true, encoding: 'utf8' })
  const segment = names.find((name) => /j-\d+\.jsonl$/.test(name))
  if (segment === undefined) throw new Error(`no journal among ${names.join(', ')}`)
  const estimates: Json[] = []
  for await (const reading of readRun(join(state, segment, '..'))) {
    if (reading.type !== 'record' || reading.record.k !== 'started') continue
    const { kind, estimate } = reading.record as unknown as { readonly kind: string; readonly estimate?: Json }
    if (kind === 'model' && isJsonObject(estimate)) estimates.push(estimate)
  }
  return estimates
}

const cases: readonly (readonly [string, { readonly [path: string]: string }, PlanCall])[] = [
  [
    'all kinds of files, several tasks, a template and file changes',
    {
      'ask.md': `+++
model = "offline::extractive"
template = true
max_tokens = 700
write_mode = true
context_globs = ["src/*.ts"]
knowledge_globs = ["docs/*.md"]
structure_globs = ["**/*.ts"]
working_globs = ["src/*.ts", ["docs/*.md"]]
+++
Explain {{data.task.label}} of {{data.task.count}}: {{#each data.files.working}}{{this}} {{/each}}
`,
      'src/a.ts': source,
      'src/b.ts': `${source}// é\n`,
      'docs/x.md': 'Know this.\n',
    },
    {},
  ],
  [
    'inputs and variables',
    {
      'ask.md':
        '+++\nmodel = "offline::extractive"\n[input.topic]\nrequired = true\n+++\nTell of {{input.topic}} {{data.task.input}}.\n',
    },
    { inputs: ['one', 'the second'], vars: ['topic=rivers'] },
  ],
  [
    'prompt files as agents, whose text is not used',
    {
      'ask.md': `+++
model = "offline::extractive"
working_globs = ["src/*.ts"]
sub_agents = [{ name = "./plan.md", as = "result", stage = ["pre", "pre_task"], options = { max_tokens = 50 } }]
+++
Explain.
`,
      'plan.md': '+++\nmodel = "offline::extractive"\ncontext_globs = ["src/*.ts"]\n+++\nPlan it.\n',
      'src/a.ts': source,
      'src/b.ts': source,
    },
    {},
  ],
  [
    'a prompt file that answers in place of the main agent',
    {
      'ask.md': '+++\nmodel = "offline::extractive"\nagent = "./expert.md"\nmax_tokens = 99\n+++\nExplain.\n',
      'expert.md': '+++\nknowledge_globs = ["know.md"]\n+++\nYou are an expert.\n',
      'know.md': 'All of it.\n',
    },
    {},
  ],
  [
    'an agent that is nothing but a prompt',
    {
      'say.aip':
        '# Options\n\n```toml\nmodel = "offline::extractive"\n```\n\n# System\n\nShort.\n\n# User\n\nSay {{input}}.\n',
    },
    { file: 'say.aip', inputs: ['this', 'and that'] },
  ],
]

describe('the estimate of a plan', () => {
  it.each(cases)('equals what a run reserves: %s', async (_, files, call) => {
    const folder = workspaceOf(files)
    const { total, asks } = await planIn(folder, call)
    const estimates = await estimatesOfRun(folder, call)
    const sum = (numbers: readonly unknown[]): number => numbers.reduce<number>((all, each) => all + Number(each), 0)
    const tokens = estimates.map((estimate) => isJsonObject(estimate) && estimate['tokens'])
    const outputs = estimates.map(
      (estimate) => isJsonObject(estimate) && isJsonObject(estimate['output']) && estimate['output']['tokens'],
    )
    expect(asks.map(({ model }) => model)).toEqual(['offline::extractive'])
    expect(estimates.length).toBeGreaterThan(0)
    expect({
      requests: total.requests.as_written,
      input: total.input_tokens.as_written,
      output: total.output_tokens.as_written,
    }).toEqual({ requests: estimates.length, input: sum(tokens), output: sum(outputs) })
    expect(total.input_tokens.at_least).toBe(total.input_tokens.as_written)
  })

  it('includes the schema of [output], and up to two corrections of the answer', async () => {
    const folder = workspaceOf({
      'ask.md':
        '+++\nmodel = "offline::extractive"\nmax_rounds = 1\n[output.schema]\ntype = "object"\nproperties = { name = { type = "string" } }\n+++\nHi\n',
    })
    const { total } = await planIn(folder, { overrides: ['retry.max_attempts=1'] })
    const [first] = await estimatesOfRun(folder, {})
    expect(first).toMatchObject({ tokens: total.input_tokens.as_written })
    expect(total.requests).toEqual({ at_least: 1, as_written: 1, at_most: 3 })
  })
})
