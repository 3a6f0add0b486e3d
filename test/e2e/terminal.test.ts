import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type ModelScript, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

const open: ModelServer[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

async function world(
  script: ModelScript,
  files: Readonly<Record<string, string>>,
): Promise<{ readonly cwd: string; readonly env: Readonly<Record<string, string>> }> {
  const server = await startModelServer(script)
  open.push(server)
  return { cwd: tempTree({ '.git/HEAD': '', ...files }), env: { BATON_GATEWAY_URL: server.url } }
}

const ask = { 'ask.md': '+++\nmodel = "gpt-5-mini"\n+++\nSay it.\n' }
const map = {
  'map.md': '+++\nmodel = "gpt-5-mini"\nworking_globs = ["src/*.ts"]\ninput_concurrency = 3\n+++\nExplain.\n',
  ...Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`src/日本-${index}.ts`, 'export {}\n'])),
}
const strange = 'red \u001b[31mand\u001b[0m gone \u001b[2J\u0007'

describe('on a terminal', () => {
  it('draws before a server that waits one second has answered, and leaves the answer and one line', async () => {
    const order: string[] = []
    const { cwd, env } = await world(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1000))
      order.push('answer')
      return { text: 'It is said.' }
    }, ask)
    const { code, output, terminal } = await inTerminal('baton ask.md', {
      cwd,
      env,
      columns: 40,
      onScreen: (screen) => {
        if (order.length === 0 && screen.screen().join('\n').includes('asking the model')) order.push('frame')
      },
    })
    expect(code).toBe(0)
    expect(order).toEqual(['frame', 'answer'])
    expect(output).toContain('\u001b[?25l')
    expect(terminal).toMatchObject({ lost: '', cursorShown: true, wraps: true })
    expect(terminal.everything()).toEqual(['It is said.', expect.stringMatching(/^done · \d+s · 10 tokens in, 3 out$/)])
  })

  it('keeps the answers of many tasks separate from the live view, also while the window is resized', async () => {
    let folder = ''
    const { cwd, env } = await world(async (_request, index) => {
      await new Promise((resolve) => setTimeout(resolve, 250))
      if (index === 4) spawnSync('stty', ['-F', readFileSync(join(folder, 'tty.txt'), 'utf8').trim(), 'cols', '44'])
      return { text: strange }
    }, map)
    folder = cwd
    const { code, terminal } = await inTerminal('tty > tty.txt; baton map.md', { cwd, env, columns: 70 })
    expect(code).toBe(0)
    expect(terminal).toMatchObject({ lost: '', cursorShown: true, wraps: true })
    const answers = Array.from({ length: 9 }, (_, index) => [`==> src/日本-${index}.ts <==`, 'red and gone ␛[2J␇', ''])
    expect(terminal.everything()).toEqual([
      ...answers.flat().slice(0, -1),
      // there is no room left for the tokens
      expect.stringMatching(/^done · \d+s · 9\/9 tasks$/),
    ])
  })

  it('restores the cursor and the screen for the shell when Ctrl-C is pressed', async () => {
    const { cwd, env } = await world([{ text: 'never there', gate: new Promise(() => undefined) }], ask)
    let pressed = false
    const { output, terminal } = await inTerminal('trap : INT; baton ask.md; echo "code $?"', {
      cwd,
      env,
      onScreen: (screen, type) => {
        if (pressed || !screen.screen().join('\n').includes('asking the model')) return
        pressed = true
        type('\u0003')
      },
    })
    expect(output.lastIndexOf('\u001b[?25h')).toBeGreaterThan(output.lastIndexOf('\u001b[?25l'))
    expect(output.lastIndexOf('\u001b[?7h')).toBeGreaterThan(output.lastIndexOf('\u001b[?7l'))
    const [stopped, resume, code] = terminal.everything()
    expect([stopped, code]).toEqual(['stopped', 'code 130'])
    expect(resume).toMatch(/^resume: baton resume \d{8}-\d{6}-[0-9a-f]{9}$/)
  })

  it('writes every byte to files and pipes, and draws next to them', async () => {
    const { cwd, env } = await world(async () => {
      await new Promise((resolve) => setTimeout(resolve, 300))
      return { text: strange }
    }, ask)
    const { code, output, terminal } = await inTerminal('baton ask.md > answer.txt && TERM=dumb baton ask.md 2>&1', {
      cwd,
      env,
    })
    expect(code).toBe(0)
    expect(readFileSync(join(cwd, 'answer.txt'), 'utf8')).toBe(`${strange}\n`)
    expect(output).toContain('asking the model')
    // the second one draws nothing: it only writes the answer, with control characters replaced
    expect(terminal.everything()).toEqual([expect.stringMatching(/^done · /), 'red and gone ␛[2J␇'])
    expect(output.slice(output.lastIndexOf('\u001b'))).toMatch(/ out\r\nred and gone ␛\[2J␇\r\n$/)
  })
})
