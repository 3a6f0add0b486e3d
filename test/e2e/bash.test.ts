import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { hasBox } from '../helpers/box.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

interface World {
  readonly model: ToolModel
  readonly folder: string
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  /** The tool results of all requests, each once. */
  readonly told: () => readonly string[]
}

const allowed = '[permission]\nbash = "allow"\n'

/** A model that may run commands in a folder; `config` is the user's own. */
async function world(replies: readonly ModelReply[], config: string, keys = ''): Promise<World> {
  const model = await startToolModel(replies)
  const folder = tempTree({
    '.git/HEAD': 'ref: refs/heads/main\n',
    'ask.md': `+++\nmodel = "m"\ntools = ["bash"]\n${keys}\n+++\nLook.\n`,
    'sub/a.txt': 'one\n',
  })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree({ 'config/config.toml': config }) }
  return {
    model,
    folder,
    run: (...args) => baton(args, { cwd: folder, env, process: 'own' }),
    told() {
      const all = model.requests.flatMap(
        ({ body }) => (body?.messages ?? []) as readonly { role: string; content: string }[],
      )
      return [...new Set(all.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])))]
    },
  }
}

const line = (command: string) => callsTools(['bash', { command }])

it.skipIf(!hasBox)(
  'commands run in the final folder of the previous one, each as one line on stderr (in a box)',
  async () => {
    const replies = [line('cd sub && cat a.txt'), line('pwd; ls'), line('cat none'), { text: 'Done.' }]
    const { model, run, folder } = await world(replies, allowed)
    const end = await run('ask.md')
    expect(end, end.stderr).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(model.offered()).toEqual(['bash'])
    const results = model.requests.map(({ body }) => (body?.messages ?? []).at(-1)?.content)
    expect(results.slice(1)).toEqual([
      'one\n[the next command runs in "sub"]',
      `${folder}/sub\na.txt`,
      'Error: exit code 1\ncat: none: No such file or directory',
    ])
    expect(end.stderr).toContain('bash cd sub && cat a.txt\nbash pwd; ls\n')
    expect(end.stderr).toContain('failed bash cat none: exit code 1\n')
  },
)

it.skipIf(!hasBox)(
  'a pattern of [permission] decides, and a refusal names a rule that would allow it (in a box)',
  async () => {
    const calls = callsTools(['bash', { command: 'cat sub/a.txt' }], ['bash', { command: 'cat sub/a.txt; rm -rf sub' }])
    const { run, told, folder } = await world([calls, { text: 'Done.' }], '[permission.bash]\n"cat *" = "allow"\n')
    expect(await run('ask.md')).toMatchObject({ code: 0 })
    expect(told()).toEqual(['one', 'Error: permission denied; to allow it set [permission] bash."rm *" = "allow"'])
    expect(existsSync(join(folder, 'sub/a.txt'))).toBe(true)
  },
)

it.skipIf(!hasBox)(
  'a command waits for its approval and runs once it is given, in the folder that was shown (in a box)',
  async () => {
    const replies = [line('cd sub'), line('echo "a\u001b[2J"\ncat a.txt'), { text: 'Done.' }]
    const { run, told } = await world(replies, '[permission.bash]\n"cd *" = "allow"\n')
    const waits = await run('ask.md', '--on-ask', 'suspend')
    expect(waits, waits.stderr).toMatchObject({ code: 5 })
    expect(waits.stderr).toContain('command:\n    echo "a␛[2J"\n    cat a.txt\n  directory: sub\n')
    const end = await run('approve')
    expect(end, end.stderr).toMatchObject({ code: 0, stdout: 'Done.\n' })
    expect(told()).toEqual(['[no output]\n[the next command runs in "sub"]', 'a\none'])
  },
)

it.skipIf(!hasBox)('background commands are ended with the run, which reports it (in a box)', async () => {
  const replies = [
    callsTools(['bash', { command: 'echo up; sleep 300', background: true }]),
    callsTools(['bash_output', { id: 'bash_1', wait: 1 }]),
    { text: 'Done.' },
  ]
  const { run, told, model } = await world(replies, allowed)
  const end = await run('ask.md', '--json')
  expect(end.code, end.stderr).toBe(0)
  const offered = model.requests.map(({ body }) =>
    ((body?.['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name),
  )
  expect(offered).toEqual([['bash'], ['bash', 'bash_output', 'kill'], ['bash', 'bash_output', 'kill']])
  expect(told()[1]).toBe('bash_1 is running\nup')
  const messages = jsonLines(end.stdout).flatMap(({ type, message }) => (type === 'warning' ? [message] : []))
  expect(messages).toEqual(['background commands stopped at the end of the conversation: bash_1 (echo up; sleep 300)'])
})

it.skipIf(!hasBox)('a replay runs nothing and has the same output (in a box)', async () => {
  const replies = [line('cd sub; date +%s%N; seq 1 20000'), line('pwd'), { text: 'Done.' }]
  const { run, model } = await world(replies, allowed)
  const recorded = await run('ask.md', '--record', 'run.cassette')
  expect(recorded, recorded.stderr).toMatchObject({ code: 0 })
  const asked = model.requests.length
  const replayed = await run('ask.md', '--replay', 'run.cassette')
  expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(replayed.stderr).toContain('2 commands')
  expect(model.requests.length).toBe(asked)
})
