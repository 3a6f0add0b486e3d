import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCheckParts } from '../../../src/load/check/agent.ts'
import { checkFile } from '../../../src/load/check/check.ts'
import type { Problem } from '../../../src/load/check/problem.ts'
import { issuesOf } from '../../../src/settings/issue.ts'
import { loadTarget } from '../../../src/load/target.ts'
import { builtInDir } from '../../helpers/agents.ts'
import { tempTree } from '../../helpers/temp.ts'
import { strategies } from '../../../src/strategies/strategies.ts'

function optionsFor(prompt: string, files: { readonly [path: string]: string }) {
  const folder = tempTree({ '.git/HEAD': 'x', 'ask.md': prompt, 'a.lua': 'return 1\n', ...files })
  const env = { BATON_HOME: join(folder, '.state') }
  return { file: 'ask.md', cwd: folder, env, home: folder, flags: { overrides: [] }, builtInDir, strategies }
}

/** Each problem as `line:column message | hint`; loading the file for a run throws the first of them. */
async function problems(steps: string, files: { readonly [path: string]: string } = {}): Promise<readonly string[]> {
  const options = optionsFor(`+++\n[workflow]\n${steps}\n+++\nDo it.\n`, files)
  const parts = createCheckParts({ builtInDir })
  const { problems: found } = await checkFile(options, parts)
  await parts.close()
  const wrong = found.filter(({ severity }) => severity === 'error')
  const thrown: unknown = await loadTarget(options).catch((error: unknown) => error)
  const messages = issuesOf(thrown).map(({ message }) => message)
  expect(wrong.length > 0).toBe(messages.length > 0)
  if (messages.length > 0) expect(wrong.map(({ message }) => message)).toContain(messages[0])
  return wrong.map(shown)
}

function shown({ message, hint, place: { line, column } }: Problem): string {
  return `${line}:${column} ${message} | ${hint}`
}

/** Steps of the agent a.lua: `id: needs, needs; more keys`. */
function steps(...list: readonly string[]): string {
  return list
    .map((one) => {
      const [head = '', ...keys] = one.split(';')
      const [id = '', needs = ''] = head.split(':')
      const names = needs.split(',').flatMap((need) => (need.trim() === '' ? [] : [JSON.stringify(need.trim())]))
      return ['[[workflow.step]]', `id = "${id}"`, 'agent = "./a.lua"', `needs = [${names.join(', ')}]`, ...keys].join(
        '\n',
      )
    })
    .join('\n')
}

describe('a valid workflow', () => {
  it.each([
    ['one step', steps('a')],
    ['a diamond', steps('a', 'b:a', 'c:a', 'd:b,c')],
    ['steps in any order', steps('d:b,c', 'c:a', 'b:a', 'a')],
    [
      'a branch for each end, and what joins them',
      steps('a', 'ok:a', 'bad:a;when = "failure"', 'end:ok,bad;when = "always"'),
    ],
    ['a condition over a name with -', steps('my-a', 'b:my-a;when = "steps[\\"my-a\\"].status == \'done\'"')],
    [
      'names of a step before its needs',
      steps('a', 'b:a', 'c:b;input = "{{steps.a.output.title}} {{#each steps.b.output}}{{x}}{{/each}}"'),
    ],
    ['a minus between names', steps('a', 'b:a;when = "steps.a.output-steps.a.output == 0"')],
    ['names in texts and comments', steps('a', 'b:a;when = \'steps.a.output == "steps.zzz" -- steps.yyy\'')],
  ])('%s has no errors', async (_, written) => {
    expect(await problems(written)).toEqual([])
  })
})

describe('an invalid workflow is reported before anything runs', () => {
  it.each([
    ['a cycle', steps('a:c', 'b:a', 'c:b'), '10:10 workflow steps need each other in a cycle: a → c → b → a'],
    ['a step that needs itself', steps('a:a'), '6:10 workflow steps need each other in a cycle: a → a'],
    [
      'an unknown id',
      steps('first', 'b:frist'),
      '10:10 workflow step "b" needs "frist", but there is no step with that id | Did you mean "first"?',
    ],
    ['two steps of one id', steps('a', 'a'), '8:6 two workflow steps have the id "a"'],
    ['no step at all', 'concurrency = 3', '2:2 "workflow" has no steps'],
    [
      'an id that is none',
      '[[workflow.step]]\nid = "a b"\nagent = "./a.lua"',
      '4:6 "workflow.step[0].id" must be a name of letters',
    ],
    ['no agent', '[[workflow.step]]\nid = "a"', '3:12 workflow step "a" has neither agent nor instructions'],
    ['both agents', steps('a;instructions = "x"'), '7:1 workflow step "a" has both agent and instructions'],
    [
      'fallback without agents',
      steps('a;on_error = "fallback"'),
      '7:1 workflow step "a" has on_error = "fallback" but no fallback',
    ],
    ['concurrency without items', steps('a;concurrency = 2'), '7:1 workflow step "a" has concurrency without for_each'],
    ['a misspelled key', steps('a;neds = ["b"]'), '7:1 unknown key "neds" in workflow.step[0] | Did you mean "needs"?'],
    [
      'a misspelled word',
      steps('a', 'b:a;when = "sucess"'),
      '11:8 workflow step "b": unknown condition "sucess" | Did you mean "success"?',
    ],
    [
      'a failure of nobody',
      steps('a;when = "failure"'),
      '7:8 workflow step "a" can never run: it waits for a failure but needs no step',
    ],
    [
      'a failure that ends the run',
      steps('a;on_error = "fail_fast"', 'b:a;when = "failure"'),
      '12:8 workflow step "b" can never run: the run ends when "a" fails',
    ],
    [
      'both ends of one step',
      steps('a', 'b:a;when = "failure"', 'c:a,b'),
      '15:9 workflow step "c" can never run: "a" would have to have both succeeded and failed',
    ],
    [
      'Lua that is none',
      steps('a', 'b:a;for_each = "steps.a.output +"'),
      '11:13 workflow step "b": for_each is not a Lua expression',
    ],
    ['a statement', steps('a', 'b:a;when = "x = 1"'), '11:9 workflow step "b": when is not a Lua expression'],
    [
      'a template as a list',
      steps('a', 'b:a;for_each = "{{ steps.a.output }}"'),
      '11:13 workflow step "b": for_each is a Lua expression, not a template: {{ steps.a.output }} is a table that holds steps.a.output | Write for_each = "steps.a.output".',
    ],
    [
      'a template as a condition',
      steps('a;when = "{{params.x}}"'),
      '7:9 workflow step "a": when is a Lua expression, not a template',
    ],
    [
      'a template that is none',
      steps('a', 'b:a;input = "x {{#if}}"'),
      '11:12 workflow step "b": input: the template cannot be rendered: {{#if}} is not closed',
    ],
    [
      'a later step in a template',
      steps('a', 'b:a;input = "x {{steps.c.output}}"', 'c:b'),
      '11:14 workflow step "b" refers to "c", which it does not wait for | "c" starts only after it.',
    ],
    [
      'another branch in a template',
      steps('a', 'b;input = "{{steps.a.output}}"'),
      '11:12 workflow step "b" refers to "a", which it does not wait for | Add "a" to its needs.',
    ],
    [
      'an unknown step in an expression',
      steps('first', 'b:first;when = "#steps.frist.output > 0"'),
      '11:10 workflow step "b" refers to "frist", but there is no step with that id | Did you mean "first"?',
    ],
    [
      'a name with - in an expression',
      steps('my-a', 'b:my-a;when = "steps.my-a.status"'),
      '11:9 workflow step "b" refers to "my", but there is no step with that id | Write steps["my-a"]',
    ],
    ['itself', steps('a;input = "{{steps.a.output}}"'), '7:12 workflow step "a" refers to itself'],
    [
      'what a step does not have',
      steps('a', 'b:a;input = "{{steps.a.outptu}}"'),
      '11:12 workflow step "b" refers to "outptu" of step "a", which a step does not have | Did you mean "output"?',
    ],
    [
      'an item without items',
      steps('a;input = "{{item}}"'),
      '7:12 workflow step "a" refers to "item" but has no for_each',
    ],
    [
      'an item in a condition',
      steps('a;for_each = "params.x";when = "item == 1"'),
      '8:9 workflow step "a": "item" is not available in when',
    ],
    [
      'an unknown name',
      steps('a;input = "{{step.b}}"'),
      '7:12 workflow step "a": unknown name "step" in input | Did you mean "steps"?',
    ],
    [
      'an agent that is not there',
      '[[workflow.step]]\nid = "a"\nagent = "./none.lua"',
      '5:9 there is no agent "./none.lua"',
    ],
    [
      'an agent that works in a chain only',
      '[[workflow.step]]\nid = "a"\nagent = "reviewer"',
      '5:9 the built-in agent "reviewer" works only in sub_agents',
    ],
    [
      'a fallback that is not there',
      steps('a;fallback = ["./a.lua", "./none.lua"]'),
      '7:24 there is no agent "./none.lua"',
    ],
    [
      'a wrong setting',
      '[[workflow.step]]\nid = "a"\ninstructions = "x"\noptions = { modle = "x" }',
      '6:13 unknown option "modle" of a step without an agent | Did you mean "model"?',
    ],
  ] as const)('%s', async (_, written, expected) => {
    const [first = 'no problem'] = await problems(written)
    expect(first).toContain(expected)
  })

  it('names the line in multi-line texts', async () => {
    const written = `${steps('a', 'b:a')}\ninput = """\nOne\nTwo {{steps.c.output}}\n"""\n${steps('c')}`
    expect(await problems(written)).toEqual([
      '13:7 workflow step "b" refers to "c", which it does not wait for | Add "c" to its needs.',
    ])
  })

  it('prompt files that run each other in a cycle, by their steps', async () => {
    const file = (agent: string): string => `+++\n[workflow]\n[[workflow.step]]\nid = "x"\nagent = "${agent}"\n+++\n`
    const [first] = await problems('[[workflow.step]]\nid = "a"\nagent = "b.md"', { 'b.md': file('ask.md') })
    expect(first).toContain('prompt files run each other in a cycle: ask.md → b.md → ask.md')
  })

  it.each([
    ['[iterate]\ncondition = "3"\n', '[iterate] and [workflow] cannot be combined'],
    ['agent = "./a.lua"\n', '"agent" and [workflow] cannot be combined'],
  ])('another strategy in the same file: %s', async (other, message) => {
    const options = optionsFor(`+++\n${other}[workflow]\n${steps('a')}\n+++\n`, {})
    const thrown: unknown = await loadTarget(options).catch((error: unknown) => error)
    expect(issuesOf(thrown).map((issue) => issue.message)).toContainEqual(expect.stringContaining(message))
  })
})
