import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtInDir } from '../helpers/agents.ts'
import { root } from '../helpers/baton.ts'
import { runShipped } from './shipped.ts'

const agents = readdirSync(builtInDir).flatMap((file) => (file.endsWith('.aip') ? [file.slice(0, -4)] : []))

/** The stages in which an agent runs, according to its header. */
function stagesOf(name: string): readonly string[] {
  const [, list = ''] = /Stage: (.*)/.exec(header(name)) ?? []
  return [...list.matchAll(/`(pre|pre_task|post_task|post)`/g)].map(([, stage = '']) => stage)
}

/** The options of an agent, as its header lists them. */
function optionsOf(name: string): readonly string[] {
  return [...header(name).matchAll(/^- `(\w+)` — /gm)].map(([, option = '']) => option)
}

function header(name: string): string {
  const text = readFileSync(join(builtInDir, `${name}.aip`), 'utf8')
  return text.slice(0, text.search(/\n# (?:Before All|Output)/))
}

const wrong: readonly (readonly [string, object, string])[] = [
  ['code-map', { globs: 'src' }, 'its option "globs" must be a list of non-empty strings, not "src"'],
  ['code-map', { globs: { a: 1 } }, 'its option "globs" must be a list of non-empty strings, not a table'],
  ['code-map', { globs: ['a', 1] }, 'its option "globs" must be a list of non-empty strings, not ["a",1]'],
  ['code-map', { max_files: 0 }, 'its option "max_files" must be a whole number of at least 1, not 0'],
  ['code-map', { concurrency: 1.5 }, 'its option "concurrency" must be a whole number of at least 1, not 1.5'],
  ['auto-context', { model: ' ' }, 'its option "model" must be a non-empty string, not " "'],
  ['auto-context', {}, 'there is nothing to choose from: set its option "globs", or context_globs'],
  ['auto-context', { globs: ['*'], map: { max_file: 3 } }, 'code-map: it has no option "max_file"'],
  ['reviewer', { fail: 'yes' }, 'its option "fail" must be true or false, not "yes"'],
  ['test-runner', {}, 'its option "command" is missing: a command (a string or a list of strings)'],
  [
    'test-runner',
    { command: [] },
    'its option "command" must be a command (a string or a list of strings), not a table',
  ],
  ['test-runner', { command: 'true', timeout: '10 minutes' }, 'must be a duration such as "90s" or "10m"'],
  ['test-runner', { command: 'no-such-program-here'.split(' ') }, 'cannot be run'],
  ['git-diff', { base: 7 }, 'its option "base" must be a non-empty string, not 7'],
  ['context-builder', { max_files: 'six' }, 'its option "max_files" must be a whole number of at least 1, not "six"'],
]

/** Names in backticks in a cell of the row of a table. */
function cell(row: string, index: number): readonly string[] {
  return [...(row.split(/ ?\| /)[index] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
}

it('docs/agents-and-pipelines.md contains the stages and options of each agent, and each pipeline', () => {
  const text = readFileSync(join(root, 'docs/agents-and-pipelines.md'), 'utf8')
  const rows = new Map([...text.matchAll(/^\| \[?`([\w-]+)`.*$/gm)].map(([row, name = '']) => [name, row]))
  for (const name of agents) {
    expect(cell(rows.get(name) ?? '', 2), name).toEqual(stagesOf(name))
    expect(cell(rows.get(name) ?? '', 4), name).toEqual(optionsOf(name))
    rows.delete(name)
  }
  const pipelines = readdirSync(join(root, 'pipelines'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.replace(/\.md$/, ''))
  expect([...rows.keys()].toSorted()).toEqual(pipelines.toSorted())
})

describe('the built-in agents', () => {
  it.each(wrong)('%s with %j reports the error', async (name, entry, message) => {
    expect(await runShipped(name, { agent_config: { name, ...entry }, coder_stage: stagesOf(name)[0] })).toEqual({
      success: false,
      error_msg: expect.stringContaining(message),
    })
  })

  it.each(agents)('%s lists its options when one is unknown, and its header describes each of them', async (name) => {
    const answer = await runShipped(name, { agent_config: { name, glob: 1 }, coder_stage: stagesOf(name)[0] })
    const { error_msg: message } = answer as { readonly error_msg: string }
    expect(message).toContain('it has no option "glob"; its options are ')
    expect(optionsOf(name).toSorted()).toEqual(message.split(' are ')[1]?.split(', ').toSorted())
  })

  it.each(agents)('%s has an example entry, and reports an unsuitable stage', async (name) => {
    expect(header(name)).toMatch(new RegExp(`^Example: \`\\{ name = "${name}"`, 'm'))
    const stages = stagesOf(name)
    const other = ['pre', 'pre_task', 'post_task', 'post'].find((stage) => !stages.includes(stage))
    expect(await runShipped(name, { coder_stage: other })).toEqual({
      success: false,
      error_msg: `it cannot run in the stage "${other}"; set stage = ${stages.map((stage) => `"${stage}"`).join(' or ')} in its entry`,
    })
  })
})
