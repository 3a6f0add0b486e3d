import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ReadLog } from '../../src/base/reads.ts'
import { createMask } from '../../src/journal/secrets.ts'
import type { NamedFile } from '../../src/pack/resolve.ts'
import { loadTarget } from '../../src/load/target.ts'
import { createProgramSecrets } from '../../src/wiring/program-secrets.ts'
import { builtInDir } from '../helpers/agents.ts'
import { tempTree } from '../helpers/temp.ts'
import { strategies } from '../../src/strategies/strategies.ts'

const key = 'lab-4711-key'
const program = `preset = "claude"\nenv = { LAB_KEY = "${key}" }\n`
/** The setting that lets a file name variables of a program. */
const open = '[sandbox]\nmode = "danger-full-access"\n'

/** The key after masking, once `ask.md` is loaded. */
async function hidden(files: { readonly [path: string]: string }, config = open): Promise<string> {
  const cwd = tempTree({ '.git/HEAD': 'x', '.home/config/config.toml': config, ...files })
  const env = { BATON_HOME: join(cwd, '.home'), LAB_VALUE: 'of-a-4711-variable' }
  const target = await loadTarget({
    strategies,
    file: 'ask.md',
    cwd,
    env,
    home: cwd,
    flags: { overrides: [] },
    builtInDir,
  })
  const mask = createMask(env)
  await createProgramSecrets(mask, env).addFrom(target)
  return mask.hide(`${key} of-a-4711-variable`)
}

const front = (text: string): string => `+++\n${text}+++\nTry.\n`

describe('variables of MCP programs are hidden before a run begins', () => {
  const inAgents = `«secret:agents.lab.env.LAB_KEY» of-a-4711-variable`

  it.each([
    ['the file that is run', { 'ask.md': front(`[agents.lab]\n${program}`) }],
    [
      'a prompt file that it names',
      { 'ask.md': front('agent = "child.md"\n'), 'child.md': front(`agent = "lab"\n[agents.lab]\n${program}`) },
    ],
    [
      'a prompt file that names it, named by another one',
      {
        'ask.md': front('sub_agents = ["child.md"]\n'),
        'child.md': front('agent = "below.md"\n'),
        'below.md': front(`[agents.lab]\n${program}`),
      },
    ],
    [
      'a prompt file of a pack',
      {
        'ask.md': front('agent = "own@pack/child.md"\n'),
        '.baton/packs/own/pack/child.md': front(`agent = "lab"\n[agents.lab]\n${program}`),
      },
    ],
    ['a member of an ensemble', { 'ask.md': front(`[ensemble]\n[[ensemble.agents]]\nname = "lab"\n${program}`) }],
    [
      'agents/*.md, by its name',
      { 'ask.md': front('agent = "lab"\n'), '.home/config/agents/lab.md': `+++\n${program}+++\n` },
    ],
    [
      'agents/*.md, for a model to start',
      { 'ask.md': front('model = "m"\ntools = ["task"]\n'), '.home/config/agents/lab.md': `+++\n${program}+++\n` },
    ],
  ])('if they are written in %s', async (_, files) => {
    expect(await hidden(files)).toBe(inAgents)
  })

  it('if they are merged with what the file sets for the same name', async () => {
    const files = { 'ask.md': front('agent = "lab"\n[agents.lab]\nmodel = "opus"\n') }
    expect(await hidden(files, `[agents.lab]\n${program}`)).toBe(inAgents)
  })

  it('including variables of the environment that they refer to', async () => {
    const files = { 'ask.md': front('[agents.lab]\npreset = "claude"\nenv = { LAB_KEY = "${LAB_VALUE}" }\n') }
    expect(await hidden(files)).toBe(`${key} «secret:LAB_VALUE»`)
  })

  it('if two files define programs of the same name', async () => {
    const files = {
      'ask.md': front(
        `agent = "child.md"\n[agents.lab]\npreset = "claude"\nenv = { LAB_KEY = "of-a-4711-variable" }\n`,
      ),
      'child.md': front(`agent = "lab"\n[agents.lab]\n${program}`),
    }
    expect(await hidden(files)).toBe('«secret:agents.lab~2.env.LAB_KEY» «secret:agents.lab.env.LAB_KEY»')
  })
})

it('including those of an agent that a script finds later, before its text is recorded', async () => {
  const mask = createMask({})
  const programs = createProgramSecrets(mask, {})
  const noted: string[] = []
  const reads: ReadLog = {
    file: () => {},
    prompt: () => {},
    list: () => {},
    sources: { stored: () => undefined, found: (_, entry) => noted.push(mask.hide(JSON.stringify(entry))) },
  }
  const text = front(
    `[agents.lab]\n${program}[[ensemble.agents]]\npreset = "codex"\nenv = { LAB_KEY = "codex-4711" }\n`,
  )
  const agent: NamedFile = { kind: 'prompt', name: 'child.md', file: '/child.md', text, builtIn: false }
  const found = await programs.hidden(reads, async ({ sources }) => {
    sources?.found('/child.md', { kind: 'file', text }, 'prompt')
    return agent
  })
  expect(found).toBe(agent)
  expect(noted).toHaveLength(1)
  expect(noted[0]).toContain('«secret:agents.lab.env.LAB_KEY»')
  expect(noted[0]).toContain('«secret:agents.member1.env.LAB_KEY»')
})
