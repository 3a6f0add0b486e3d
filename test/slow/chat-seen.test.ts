import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import type { ModelReply } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux, type Screen } from '../helpers/tmux.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

const patience = { timeout: 30_000, interval: 100 }

interface Seen extends Omit<Screen, 'send'> {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly model: ToolModel
  /** Waits until a line like this is on the screen. */
  readonly until: (line: string | RegExp, count?: number) => Promise<void>
  /** Sends a line, once nothing is in progress. */
  readonly send: (line: string) => Promise<void>
}

async function chatIn(
  replies: readonly ModelReply[],
  { files = {}, config = '', args = '', term, env: more = {} }: ChatWorld = {},
): Promise<Seen> {
  const model = await startToolModel(replies)
  const cwd = tempTree({ '.git/HEAD': '', 'baton.toml': 'model = "m"\n', ...files })
  const home = tempTree({ 'config/config.toml': config })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: home, BATON_LOCAL_SERVERS: 'off', ...more }
  const command = `${term === undefined ? '' : `TERM=${term} `}'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat ${args}`
  const screen = inTmux(command, env, cwd, 60)
  const until = (line: string | RegExp, count = 1): Promise<void> =>
    vi.waitFor(
      () =>
        expect(
          screen.lines().filter((one) => (typeof line === 'string' ? one === line : line.test(one))).length,
          screen.lines().join('\n'),
        ).toBeGreaterThanOrEqual(count),
      patience,
    )
  const send = async (line: string): Promise<void> => {
    await vi.waitFor(() => expect(screen.lines().at(-1), screen.lines().join('\n')).toBe('>'), patience)
    screen.type(line, 'Enter')
  }
  return { ...screen, cwd, env, model, until, send }
}

interface ChatWorld {
  readonly files?: Readonly<Record<string, string>>
  readonly config?: string
  readonly args?: string
  /** tmux sets its own. */
  readonly term?: string
  readonly env?: Readonly<Record<string, string>>
}

it.skipIf(!hasTmux)(
  'what was allowed for all edits and for a pattern of commands holds until /permissions revokes it, within the rules (needs tmux)',
  async () => {
    const write = (path: string): readonly [string, { readonly path: string; readonly content: string }] => [
      'write',
      { path, content: 'x\n' },
    ]
    const { cwd, model, until, send, type, lines } = await chatIn(
      [
        callsTools(write('a.txt')),
        { text: 'One.' },
        callsTools(write('b.txt'), write('.git/config'), write('../out.txt'), write('secret/c.txt')),
        { text: 'Two.' },
        callsTools(['bash', { command: 'echo one' }]),
        { text: 'Three.' },
        callsTools(['bash', { command: 'echo two' }], ['bash', { command: 'echo three > d.txt' }]),
        { text: 'Four.' },
        callsTools(write('e.txt')),
        { text: 'Five.' },
      ],
      { config: '[permission.write]\n"secret/**" = "ask"\n', env: { NO_COLOR: '1' } },
    )
    await send('make it')
    await until('write a.txt?')
    await until(/^allow it\? .*\[e\]dits: all files, \[\?\]:$/)
    type('?', 'Enter')
    await until(/^ {2}e +this and, for the rest of the chat, changes of all files$/)
    type('e', 'Enter')
    await until('One.')
    await send('and more')
    // a rule that names something more special asks again
    await until('write secret/c.txt?')
    type('n', 'Enter')
    await until('Two.')
    const [made, hidden, outside, asked] = model.results()
    expect([made, asked]).toEqual(['Created b.txt, 1 line.', 'Error: rejected by the user'])
    expect([hidden, outside].join('\n')).toMatch(/\.git\/config.*\n.*out\.txt/)
    expect(existsSync(join(cwd, '.git/config'))).toBe(false)
    await send('run it')
    await until('run this command?')
    type('p', 'Enter')
    await until('Three.')
    await send('again')
    await until('run this command?', 2)
    expect(lines()).toContain('  command: echo three > d.txt')
    type('n', 'Enter')
    await until('Four.')
    await send('/permissions')
    await until('  1  changes of all files')
    await until(/^ {2}2 {2}bash with echo \*/)
    await until(/^ {2}permission\.write\."secret\/\*\*" = "ask"/)
    await send('/permissions revoke 1')
    await until('asks again: changes of all files')
    await send('once more')
    await until('write e.txt?')
    type('n', 'Enter')
    await until('Five.')
    expect(existsSync(join(cwd, 'e.txt'))).toBe(false)
    expect(readFileSync(join(cwd, 'b.txt'), 'utf8')).toBe('x\n')
  },
)

it.skipIf(!hasTmux)('the editor of a user has the terminal of a chat until it is closed (needs tmux)', async () => {
  const all = Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join('')
  const { cwd, until, send, type, model } = await chatIn(
    [
      callsTools(['read', { path: 'a.txt' }]),
      callsTools([
        'edit',
        { path: 'a.txt', old_text: all, new_text: all.replace('2\n', 'two\n').replace('28\n', '28!\n') },
      ]),
      { text: 'Done.' },
      { text: 'Yes.' },
    ],
    {
      files: { 'a.txt': all },
      // what is typed in it is what is written
      env: {
        NO_COLOR: '1',
        EDITOR: `sh -c 'printf "in the editor\\n"; read -r line; printf "%s\\n" "$line" > "$1"' -`,
      },
    },
  )
  await send('change it')
  await until(/^allow it\?/)
  type('h', 'Enter')
  await until(/hunk 1 of 2\?/)
  type('e', 'Enter')
  await until('in the editor')
  type('mine', 'Enter')
  await until(/hunk 2 of 2\?/)
  type('n', 'Enter')
  await until('Done.')
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toMatch(/^mine\nline 6\n[^]*line 29\n$/)
  expect(model.results().at(-1)).toContain('The user made it otherwise: a.txt:3\n\nmine')
  await send('good')
  await until('Yes.')
})

it.skipIf(!hasTmux)(
  'a chat shows what answers, rendered Markdown, and what commands print; nothing of the live view stays (needs tmux)',
  async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const { until, send, type, paste, lines, model } = await chatIn(
      [
        { text: '## Title\n\nSome **bold** text.\n\n| a | b |\n| --- | --- |\n| one | \u001b[2J |\n' },
        callsTools(['bash', { command: 'for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.4; done; cat wait' }]),
        { text: 'Ticked.', gate },
        { text: 'Long.' },
      ],
      { args: '-y', files: { wait: 'end\n' } },
    )
    await until(/^m \(gateway\) · mode classic · \//)
    await send('show it')
    await until('one  ␛[2J')
    expect(lines()).toEqual(expect.arrayContaining(['## Title', 'Some bold text.', 'a    b', '───  ────']))
    await send('tick')
    await until('  tick 2')
    type('typed meanwhile')
    await until('> typed meanwhile')
    await until('  end')
    open()
    await until('Ticked.')
    await until('> typed meanwhile')
    const ended = lines()
    const from = ended.indexOf('> tick')
    expect(ended.slice(from)).toEqual([
      '> tick',
      expect.stringMatching(/^sandbox /),
      expect.stringMatching(/^bash for i in/),
      '  …',
      '  tick 5',
      '  tick 6',
      '  end',
      'Ticked.',
      expect.stringMatching(/^done · /),
      '> typed meanwhile',
    ])
    const pasted = Array.from({ length: 2000 }, (_, at) => `line ${at}`).join('\n')
    paste(pasted)
    await until('> typed meanwhile[2,000 lines pasted]')
    type('Enter')
    await until('Long.')
    expect(model.requests.at(-1)?.body?.messages.at(-1)?.content).toBe(`typed meanwhile${pasted}`)
  },
)

it.skipIf(!hasTmux)(
  'on a dumb terminal an answer is shown as it comes, and stays when it is stopped; a missing model is said at once (needs tmux)',
  async () => {
    const { until, send, type, lines } = await chatIn([{ text: 'one **two** three', stallAfter: 3 }], {
      files: { 'baton.toml': '' },
      term: 'dumb',
    })
    await until(/^no model is named, .*; \/model NAME chooses one$/)
    await send('/mode nope')
    await until('hint: Modes: classic, code.')
    await send('/model m')
    await until('model for the next messages: m')
    await send('go')
    await until(/^one /)
    type('C-c')
    await until('stopped')
    expect(lines().some((line) => line.startsWith('one '))).toBe(true)
  },
)

it.skipIf(!hasTmux)(
  'on a dumb terminal what was typed can be erased and discarded, and a line feed sends it (needs tmux)',
  async () => {
    const { until, send, type, model } = await chatIn([{ text: 'One.' }, { text: 'Two.' }], { term: 'dumb' })
    await until('>')
    type('lost')
    await until('> lost')
    type('C-c')
    await until('>')
    type('日本x', 'BSpace', 'BSpace')
    await until('> 日')
    type('C-u', 'first', 'C-j')
    await until('One.')
    await send('second')
    await until('Two.')
    const asked = model.requests.map(({ body }) => body?.messages.at(-1)?.content)
    expect(asked).toEqual(['first', 'second'])
  },
)

it.skipIf(!hasTmux)(
  'a message whose terminal was lost is resumed by --continue, and what was being typed is recalled (needs tmux)',
  async () => {
    const { until, send, type, close, model, cwd, env } = await chatIn([
      { text: 'one two three', stallAfter: 2 },
      { text: 'one two three four' },
    ])
    await send('go')
    await until(/^ {2}one/)
    type('and then')
    await until('> and then')
    close()
    const typed = join(env['BATON_HOME'] ?? '', 'state/chat-history.jsonl')
    await vi.waitFor(() => expect(readFileSync(typed, 'utf8')).toContain('"and then"'), patience)
    const again = await baton(['chat', '--continue'], { cwd, env, input: '' })
    expect(again, again.stderr).toMatchObject({ code: 0, stdout: 'one two three four\n' })
    expect(model.requests).toHaveLength(2)
  },
)

/** The process that answers the only message. */
function writerOf(home: string): number {
  const runs = join(home, 'state/runs')
  const [file = ''] = readdirSync(runs, { recursive: true, encoding: 'utf8' }).filter((name) => /j-000001/.test(name))
  const [first = ''] = readFileSync(join(runs, file), 'utf8').split('\n')
  return (JSON.parse(first.slice(9)) as { readonly pid: number }).pid
}

it.skipIf(!hasTmux)(
  'a call that was killed is shown as unfinished, and the chat says how to resolve it and how to go on (needs tmux)',
  async () => {
    const replies = [callsTools(['bash', { command: 'touch begun; sleep 60' }]), { text: 'Fine.' }]
    const { until, send, cwd, env } = await chatIn(replies, { args: '-y' })
    await send('go')
    await vi.waitFor(() => expect(existsSync(join(cwd, 'begun'))).toBe(true), patience)
    process.kill(writerOf(env['BATON_HOME'] ?? ''), 'SIGKILL')
    await until(/^code 137$/)
    const again = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat --continue`
    const other = inTmux(again, env, cwd, 60)
    const sees = (text: RegExp): Promise<void> =>
      vi.waitFor(() => expect(other.lines().join('\n')).toMatch(text), patience)
    await sees(/^> go\nunfinished bash touch begun; sleep 60\nthe last message was interrupted; resuming it$/m)
    await sees(/continue it with one of these for each \(baton chat --continue --uncertain …\)\.\s[^]*=redo [^]*\n>$/)
    other.type('and now', 'Enter')
    await sees(/> and now\nFine\.$/m)
  },
)

it('answers that are not for a terminal are as the model wrote them, also with --raw', async () => {
  const text = '# A\n\n**b** `c`\n\n| a | b |\n|-|-|\n| 1 | 2 |'
  const model = await startToolModel([{ text }, { text }])
  const cwd = tempTree({ 'ask.md': '+++\nmodel = "m"\n+++\nGo.\n' })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree(), FORCE_COLOR: '1' }
  expect((await baton(['ask.md'], { cwd, env })).stdout).toBe(`${text}\n`)
  expect((await baton(['chat', '-m', 'm', '--raw'], { cwd, env, input: 'Go.\n' })).stdout).toBe(`${text}\n`)
})
