import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { root } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux } from '../helpers/tmux.ts'
import { callsTools } from '../helpers/tool-model.ts'

it.skipIf(!hasTmux)(
  'in a terminal of tmux the question is alone below its call, and the answer after it (needs tmux)',
  async () => {
    const server = await startModelServer([
      callsTools(['todo', { todos: [{ content: 'Look', status: 'pending' }] }]),
      callsTools(['todo', { todos: [{ content: 'Again', status: 'pending' }] }]),
      { text: 'Done.' },
    ])
    onTestFinished(() => server.close())
    const cwd = tempTree({ '.git/HEAD': '', 'ask.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nPlan.\n' })
    const home = tempTree({ 'config/config.toml': '[permission]\ntodo = "ask"\n' })
    const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: home, BATON_LOCAL_SERVERS: 'off' }
    const command = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' ask.md`
    const { lines, type } = inTmux(command, env, cwd)
    const question = 'allow it? [y]es, [n]o (or: no, because …), [a]lways in this run: every call of todo, [?]:'
    const asked = ['use todo?', '  todos: [{"content":"Look","status":"pending"}]', question]
    await vi.waitFor(() => expect(lines().slice(-3)).toEqual(asked), { timeout: 20_000, interval: 100 })
    type('no, because of tests', 'Enter')
    // the next question, not the one that is being answered: what is typed before it is shown does not answer it
    const next = ['  todos: [{"content":"Again","status":"pending"}]', question]
    await vi.waitFor(() => expect(lines().slice(-2)).toEqual(next), { timeout: 20_000, interval: 100 })
    expect(lines()).toContain(`${question} no, because of tests`)
    type('y', 'Enter')
    await vi.waitFor(() => expect(lines().at(-1)).toBe('code 0'), { timeout: 20_000, interval: 100 })
    // nothing of the live view remains, and nothing is overdrawn
    expect(lines()).toEqual([
      ...asked.slice(0, 2),
      `${question} no, because of tests`,
      'denied todo 0 of 1 done: rejected by the user: of tests',
      'use todo?',
      '  todos: [{"content":"Again","status":"pending"}]',
      `${question} y`,
      'todo 0 of 1 done',
      'Done.',
      expect.stringMatching(/^done · /),
      'code 0',
    ])
  },
)
