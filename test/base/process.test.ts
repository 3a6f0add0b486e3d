import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { commandEnvironment } from '../../src/base/command.ts'
import { type ProcessOptions, runProcess, startProcess } from '../../src/base/process.ts'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { isAlive } from '../helpers/worker-processes.ts'

const never = new AbortController().signal
const folder = tempTree()
const path = '/usr/local/bin:/usr/bin:/bin'

function shell(script: string, options: Partial<ProcessOptions> = {}): ProcessOptions {
  return {
    command: 'sh',
    args: ['-c', script],
    cwd: folder,
    environment: { PATH: path },
    timeLimitMs: 60_000,
    maxOutputBytes: 16 * 1024 * 1024,
    ...options,
  }
}

/** Waits until the process with this id is gone; a zombie counts as gone. */
async function gone(id: number): Promise<boolean> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (!isAlive(id)) return true
    await sleep(20)
  }
  return false
}

async function written(file: string): Promise<string> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (existsSync(file) && readFileSync(file, 'utf8').endsWith('\n')) return readFileSync(file, 'utf8').trim()
    await sleep(20)
  }
  throw new Error(`nothing was written to ${file}`)
}

// most of them wait for a process to end
describe.concurrent('runProcess', () => {
  it('returns both streams and the exit code', async () => {
    expect(await runProcess(shell('echo out; echo "ä€😀" >&2; exit 3'), never)).toEqual({
      end: { kind: 'exited', code: 3 },
      stdout: { text: 'out\n', lost: 0 },
      stderr: { text: 'ä€😀\n', lost: 0 },
    })
  })

  it('passes arguments unchanged, without a shell', async () => {
    const args = ['%s|', 'a b', '$HOME', '*', '', 'ü"\'']
    const { stdout } = await runProcess({ ...shell(''), command: 'printf', args }, never)
    expect(stdout.text).toBe('a b|$HOME|*||ü"\'|')
  })

  it('gives the process empty standard input, its folder, and only the given variables', async () => {
    const result = await runProcess(shell('cat; pwd; env | sort', { environment: { PATH: path, ONLY: 'this' } }), never)
    const lines = result.stdout.text.trim().split('\n')
    expect(lines[0]).toBe(folder)
    expect(lines.filter((line) => !/^(?:PWD|OLDPWD|_|SHLVL)=/.test(line)).slice(1)).toEqual([
      'ONLY=this',
      `PATH=${path}`,
    ])
  })

  it('reports why a program did not start', async () => {
    const { end } = await runProcess({ ...shell(''), command: 'no-such-program-anywhere' }, never)
    expect(end).toEqual({ kind: 'not_started', reason: 'spawn no-such-program-anywhere ENOENT' })
  })

  it('distinguishes a signal from an exit', async () => {
    expect((await runProcess(shell('kill -KILL $$'), never)).end).toEqual({ kind: 'killed', signal: 'SIGKILL' })
  })

  it('reads 10 MB from both streams at once', async () => {
    const script = 'head -c 10000000 /dev/zero | tr "\\0" a & head -c 10000000 /dev/zero | tr "\\0" b >&2; wait'
    const { end, stdout, stderr } = await runProcess(shell(script), never)
    expect([end.kind, stdout.text.length, stderr.text.length]).toEqual(['exited', 10_000_000, 10_000_000])
    expect([stdout.text.at(-1), stderr.text.at(-1), stdout.lost]).toEqual(['a', 'b', 0])
  })

  it('keeps the first bytes of too much output, and counts the rest', async () => {
    const script = 'printf 12345; head -c 1000000 /dev/zero'
    const { end, stdout } = await runProcess(shell(script, { maxOutputBytes: 5 }), never)
    expect([end.kind, stdout]).toEqual(['exited', { text: '12345', lost: 1_000_000 }])
  })

  it('reads bytes that are not UTF-8 as U+FFFD', async () => {
    expect((await runProcess(shell(String.raw`printf 'a\377b'`), never)).stdout.text).toBe('a\uFFFDb')
  })

  it('ends a grandchild that keeps the output open', async () => {
    const { end, stdout } = await runProcess(shell('sleep 300 & echo $!'), never)
    expect(end).toEqual({ kind: 'exited', code: 0 })
    expect(await gone(Number(stdout.text))).toBe(true)
  })

  it('ends background processes with closed streams', async () => {
    const { stdout } = await runProcess(shell('sleep 300 >/dev/null 2>&1 & echo $!'), never)
    expect(await gone(Number(stdout.text))).toBe(true)
  })

  it('stops the whole group at the time limit, and keeps the output', async () => {
    const script = 'sleep 300 & echo $!; wait'
    const { end, stdout } = await runProcess(shell(script, { timeLimitMs: 1_000 }), never)
    expect(end).toEqual({ kind: 'timed_out' })
    expect(await gone(Number(stdout.text))).toBe(true)
  })

  it('kills a process that ignores TERM', async () => {
    const script = 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
    const { end, stdout } = await runProcess(shell(script, { timeLimitMs: 1_000 }), never)
    expect([end, stdout.text]).toEqual([{ kind: 'timed_out' }, 'ready\n'])
  })

  it('stops the whole group when it is aborted, and rejects with the reason', async () => {
    const stop = new AbortController()
    const file = join(folder, 'aborted')
    const running = runProcess(shell(`sleep 300 & echo $! > ${file}; wait`), stop.signal)
    const grandchild = Number(await written(file))
    const reason = new Error('enough')
    stop.abort(reason)
    await expect(running).rejects.toBe(reason)
    expect(await gone(grandchild)).toBe(true)
  })

  it('starts nothing when it is already aborted', async () => {
    const file = join(folder, 'never')
    await expect(runProcess(shell(`touch ${file}`), AbortSignal.abort(new Error('over')))).rejects.toThrow('over')
    expect(existsSync(file)).toBe(false)
  })
})

describe('runProcess alone', () => {
  it('leaves no listener on this process behind', async () => {
    const before = [process.listenerCount('exit'), process.getMaxListeners()]
    await Promise.all(Array.from({ length: 15 }, () => runProcess(shell('true'), never)))
    expect([process.listenerCount('exit'), process.getMaxListeners()]).toEqual(before)
  })
})

describe('commandEnvironment', () => {
  it('contains what programs need, but no keys and no unknown variables', () => {
    const given = { PATH: '/bin', HOME: '/h', LC_ALL: 'C', XDG_DATA_HOME: '/d', LANG: undefined }
    const secret = {
      OPENAI_API_KEY: 'k',
      GITHUB_TOKEN: 't',
      AWS_SECRET_ACCESS_KEY: 's',
      BATON_GATEWAY_KEY: 'g',
      OTHER: 'o',
    }
    expect(commandEnvironment({ ...given, ...secret })).toEqual({
      PATH: '/bin',
      HOME: '/h',
      LC_ALL: 'C',
      XDG_DATA_HOME: '/d',
    })
  })
})

describe('a process that is recorded before it starts', () => {
  const noting = (script: string, onStart: (pid: number) => void): ProcessOptions => shell(script, { onStart })

  it('does nothing before it is recorded', async () => {
    const file = join(folder, 'early')
    let wasThere: boolean | undefined
    const options = noting(`touch ${file}; cat; echo $$`, (pid) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
      wasThere = existsSync(file)
      expect(isAlive(pid)).toBe(true)
    })
    expect(await runProcess(options, never)).toMatchObject({ end: { code: 0 }, stderr: { text: '' } })
    expect([wasThere, existsSync(file)]).toEqual([false, true])
  })

  it('is the program itself, with its arguments, environment and folder', async () => {
    let noted: number | undefined
    const args = ['-c', 'echo $$; printf "%s|" "$0" "$@"; env | grep ONLY', 'a b', '$HOME', '', '-n']
    const options = { ...noting('', (pid) => (noted = pid)), args, environment: { PATH: path, ONLY: 'this' } }
    const { stdout } = await runProcess(options, never)
    expect(stdout.text).toBe(`${noted}\na b|$HOME||-n|ONLY=this\n`)
  })

  it('reads the input it is given afterwards, and nothing else', async () => {
    let out = ''
    const started = await startProcess({
      ...shell('cat; echo end'),
      readsInput: true,
      onStart: () => {},
      onOutput: { stdout: (bytes) => (out += String(bytes)), stderr: () => {} },
    })
    if (started.kind === 'not_started') throw new Error(started.reason)
    started.write('one\n\ntwo\n')
    started.endInput()
    await started.ended
    expect(out).toBe('one\n\ntwo\nend\n')
  })

  it('never starts when this process is killed before', async () => {
    const file = join(folder, 'orphan')
    const script = `
      import { runProcess } from './dist/base/process.js'
      const options = ${JSON.stringify(shell(`touch ${file}; sleep 300`))}
      await runProcess({ ...options, onStart: (pid) => { console.log(pid); process.kill(process.pid, 'SIGKILL') } }, new AbortController().signal)`
    const { stdout } = await runProcess(
      { ...shell(''), command: process.execPath, args: ['--input-type=module', '-e', script], cwd: root },
      never,
    )
    expect(await gone(Number(stdout.text))).toBe(true)
    expect(existsSync(file)).toBe(false)
  })

  it('reports why a program did not start', async () => {
    const starts = ['no-such-program-anywhere', './nothing', '/etc/passwd', '-x', folder].map((command) => ({
      command,
    }))
    for (const start of [...starts, { cwd: '/no/such/folder' }]) {
      const options = { ...shell(''), ...start }
      const { end } = await runProcess({ ...options, onStart: () => {} }, never)
      expect(end.kind).toBe('not_started')
      expect(end).toEqual((await runProcess(options, never)).end)
    }
  })

  it('is ended when it cannot be recorded', async () => {
    const file = join(folder, 'refused')
    const options = noting(`touch ${file}`, () => {
      throw new Error('no record')
    })
    await expect(runProcess(options, never)).rejects.toThrow('no record')
    expect(existsSync(file)).toBe(false)
  })
})
