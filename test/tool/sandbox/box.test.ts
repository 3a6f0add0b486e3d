import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { isPlaceholder } from '../../../src/base/placeholder.ts'
import { workspaceConfigFile } from '../../../src/config/locate.ts'
import { allRights, type ToolRule } from '../../../src/event/permission.ts'
import { strictestSandbox } from '../../../src/event/sandbox-rights.ts'
import { createSources } from '../../../src/event/sources.ts'
import { hiddenSockets } from '../../../src/tool/sandbox/plan.ts'
import { holdPlaces } from '../../../src/tool/sandbox/hold-places.ts'
import { root, snapshot } from '../../helpers/baton.ts'
import { boxWorld, hasBox, inBox, runInBox } from '../../helpers/box.ts'

/** The process status according to the system; empty if the process is gone. */
function statusOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

it('is disabled with "danger-full-access": the command itself runs, and writes wherever its user may', async () => {
  const end = await inBox('echo new > "$HOME/made.txt"; echo "$HOME"', { rights: { mode: 'danger-full-access' } })
  expect(end).toMatchObject({ code: 0, out: `${end.home}\n` })
  expect(readFileSync(join(end.home, 'made.txt'), 'utf8')).toBe('new\n')
})

it('hides sockets beyond its limit with their folders, and refuses if that would hide the workspace', () => {
  const sockets = Array.from({ length: 201 }, (_, at) => `/srv/a/${at}.sock`)
  expect(hiddenSockets(sockets, ['/srv/work'])).toEqual([...sockets.slice(0, 200), '/srv/a'])
  expect(() => hiddenSockets(sockets, ['/srv/a/work'])).toThrow('sockets in /srv/a cannot be hidden')
})

describe.skipIf(!hasBox)('a box of bwrap (needs bwrap and user namespaces)', () => {
  it('lets a command change the workspace, and reports how it ended', async () => {
    const end = await inBox('echo new > made.txt; echo out; echo err >&2; exit 3')
    expect(end).toMatchObject({ code: 3, out: 'out\n', err: 'err\n', stopped: undefined, warnings: [] })
    expect(readFileSync(join(end.work, 'made.txt'), 'utf8')).toBe('new\n')
  })

  it('gives a stopped command time to clean up after TERM', async () => {
    const world = boxWorld()
    const stop = new AbortController()
    const line = `trap 'sleep 1; echo done > cleaned.txt; exit 0' TERM; : > ready; while :; do sleep 0.1; done`
    const running = runInBox(line, world, { services: () => ({ signal: stop.signal }) })
    await expect.poll(() => existsSync(join(world.work, 'ready')), { timeout: 30_000 }).toBe(true)
    stop.abort(new Error('stopped'))
    await expect(running).rejects.toThrow('stopped')
    expect(readFileSync(join(world.work, 'cleaned.txt'), 'utf8')).toBe('done\n')
  })

  it('is read-only with "read-only"', async () => {
    const end = await inBox('cat a.txt; echo new > made.txt', {
      files: { 'a.txt': 'a\n' },
      rights: { mode: 'read-only' },
    })
    expect(end.out).toBe('a\n')
    expect(end.err).toContain('Read-only file system')
    expect(existsSync(join(end.work, 'made.txt'))).toBe(false)
  })

  it('hides keys, the state of Baton and the folders of other users', async () => {
    const end = await inBox('cat .env deep/er/.env.local; ls ~/.ssh; cat ~/.netrc; ls "$STATE"; ls /tmp', {
      files: { '.env': 'KEY=1\n', 'deep/er/.env.local': 'KEY=2\n', 'deep/.env.example': 'KEY=\n' },
    })
    expect(end.out).not.toContain('KEY')
    expect(end.err.match(/Permission denied/g)).toHaveLength(2)
  })

  it('hides keys also when a command has put many files, or a link to everything, in the way', async () => {
    const world = boxWorld({ files: { 'a/b/.env': 'KEY=1\n', 'a/b/baton.toml': '' } })
    const line =
      'ln -s / .env; ln -s .. .env.up; i=0; while [ $i -lt 290 ]; do : > .env.$i; mkdir d$i; : > d$i/.env; i=$((i+1)); done; echo done'
    expect(await runInBox(line, world)).toMatchObject({ out: 'done\n' })
    const end = await runInBox(
      'cat a/b/.env d*/.env .env.*; echo x > a/b/baton.toml; echo ran > made.txt; cat made.txt',
      world,
    )
    expect(end).toMatchObject({ out: 'ran\n', warnings: [] })
    expect(readFileSync(join(world.work, 'a/b/baton.toml'), 'utf8')).toBe('')
  })

  it('hides folders of keys if there are too many, and runs nothing if that is impossible', async () => {
    const decoys = Object.fromEntries(Array.from({ length: 310 }, (_, at) => [`p/d${at}/.env`, 'KEY=1\n']))
    const world = boxWorld({ files: { ...decoys, 'free.txt': 'free\n' } })
    expect(await runInBox('cat p/*/.env p/*/*; cat free.txt', world)).toMatchObject({ out: 'free\n' })
    for (let at = 0; at < 310; at += 1) writeFileSync(join(world.work, `.env.${at}`), 'KEY=1\n')
    await expect(runInBox('cat .env.*', world)).rejects.toThrow(/^\.env\.\d+ cannot be hidden in the sandbox/)
  })

  it.each([
    [160, 'folders with them', []],
    [310, 'the workspace', [expect.stringContaining('too many files that decide what is run')]],
  ])('protects %i places that decide what is executed: beyond 150, %s can only be read', async (count, _, warnings) => {
    const decoys = Object.fromEntries(Array.from({ length: count }, (__, at) => [`d${at}/.mcp.json`, '{}']))
    const end = await inBox('for d in d*; do echo x > $d/.mcp.json && echo DONE; done; echo ran', { files: decoys })
    expect(end).toMatchObject({ out: 'ran\n', warnings })
  })

  it('hides what rules for `read` deny or ask about, under every name, and shows what they allow', async () => {
    const rule = (pattern: string, effect: ToolRule['effect']): ToolRule => ({
      tool: 'read',
      pattern,
      effect,
      origin: 'x',
    })
    const rules = [[rule('secret/**', 'deny'), rule('ask.txt', 'ask'), rule('certs/ca.key', 'allow')]]
    const files = { 'secret/x.txt': 'KEY', 'ask.txt': 'KEY', 'certs/ca.key': 'open', 'certs/b.key': 'KEY' }
    const end = await inBox('cat secret/x.txt ask.txt copy.txt certs/*; echo; echo ran', {
      files,
      prepare: ({ work }) => linkSync(join(work, 'secret/x.txt'), join(work, 'copy.txt')),
      scope: { rights: { ...allRights, rules, sandbox: { ...strictestSandbox, mode: 'workspace-write' } } },
    })
    expect(end.out).toBe('open\nran\n')
  })

  it('hides key files of the workspace, but not certificates, plain settings and test keys', async () => {
    const certificate = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'
    const files = {
      'server.pem': 'KEY',
      '.ssh/config': 'KEY',
      'a/.npmrc': '//r/:_authToken=KEY\n',
      'ca.pem': certificate,
      '.npmrc': '; c\nsave-exact=true\n//r/:_authToken=${NPM_TOKEN}\n',
      'test/fixtures/key.pem': 'of a test\n',
    }
    const end = await inBox('cat server.pem .ssh/config a/.npmrc ca.pem .npmrc test/fixtures/key.pem', { files })
    expect(end.out).toBe(`${certificate}${files['.npmrc']}of a test\n`)
  })

  it('cannot write an agent that the run executes afterwards', async () => {
    const sources = createSources([])
    const world = boxWorld({ files: { 'old.lua': 'return 1\n', 'later.lua': 'return 1\n' } })
    await new Promise((resolve) => setTimeout(resolve, 20))
    await runInBox('echo "return 2" > later.lua; echo x > new.lua; touch -d yesterday new.lua', world, {
      services: () => ({ sources }),
    })
    sources.execute(join(world.work, 'old.lua'))
    for (const name of ['later.lua', 'new.lua']) {
      expect(() => sources.execute(join(world.work, name))).toThrow('was changed while a command of a model ran')
    }
  })

  it('protects what decides what is executed', async () => {
    const files = { '.git/config': '[core]\n', 'baton.toml': '', '.baton/config.toml': '', 'sub/.mcp.json': '{}' }
    const lines = [
      'echo x > .git/config',
      'echo x > baton.toml',
      'rm -r .baton',
      'mv .baton b',
      'echo x > sub/.mcp.json',
    ]
    const end = await inBox(lines.map((line) => `(${line}) && echo DONE`).join('; '), { files })
    expect(end.out).toBe('')
    expect(snapshot(end.work)).toEqual({ ...files, '.keep': '' })
  })

  it('reports a workspace without protection, because a protected name is a link', async () => {
    const end = await inBox('echo x > a.txt', { prepare: ({ work }) => symlinkSync('elsewhere', join(work, '.git')) })
    expect(end.err).toContain('Read-only file system')
    expect(end.warnings.join()).toContain('is a link')
  })
})

describe.skipIf(!hasBox)('a protected path that does not exist (needs bwrap and user namespaces)', () => {
  const attempts = [
    'mkdir -p .git/hooks',
    'mkdir .baton',
    'mkdir .aipack/pack',
    'echo x > baton.toml',
    'echo x > .mcp.json',
  ]
  const line = attempts.map((attempt) => `(${attempt}) && echo DONE`).join('; ')

  it('cannot be created, and no placeholder is left', async () => {
    const end = await inBox(`${line}; rmdir .baton; mv .git g; ls -a`)
    expect(end.out).not.toContain('DONE')
    expect(readdirSync(end.work)).toEqual(['.keep'])
  })

  it('is held by two boxes at once, until the second is closed', async () => {
    const world = boxWorld()
    const first = runInBox('sleep 0.5', world)
    const second = runInBox(`sleep 1.5; ${line}`, world)
    await first
    expect(readdirSync(world.work)).toContain('baton.toml')
    expect((await second).out).toBe('')
    expect(readdirSync(world.work)).toEqual(['.keep'])
  })

  it('is held again by each of many consecutive boxes', async () => {
    const world = boxWorld()
    for (let count = 0; count < 8; count += 1) {
      expect(await runInBox('echo x > baton.toml', world)).toMatchObject({ code: 2, stopped: undefined })
    }
    expect(readdirSync(world.work)).toEqual(['.keep'])
  })

  it('is held until the last process of a box has ended, however long that takes', async () => {
    const world = boxWorld()
    const name = `left${process.pid}`
    // it holds no output open, so that nobody waits for it, and a lot of memory, which takes the kernel a while to free
    const large = `{ (head -c 300000000 /dev/zero; sleep 60) | ./${name}; } >&- 2>&- &`
    const running = runInBox(`cp "$(command -v tail)" ${name}; ${large} sleep 1`, world)
    await expect.poll(() => existsSync(join(world.work, '.baton'))).toBe(true)
    while (existsSync(join(world.work, '.baton'))) await nextTurn()
    const states = readdirSync('/proc').map(statusOf)
    await running
    expect(states.filter((text) => text.includes(`(${name}) `) && !/\) [ZX] /.test(text))).toEqual([])
  })

  it('is neither config nor a repository meanwhile', async () => {
    const world = boxWorld()
    const held = holdPlaces(['baton.toml', '.git'].map((name) => join(world.work, name)))
    expect(workspaceConfigFile(world.work)).toBeUndefined()
    expect(isPlaceholder(join(world.work, '.git'))).toBe(true)
    held.release()
    expect(readdirSync(world.work)).toEqual(['.keep'])
  })

  it('is released, also when something else was put there meanwhile', () => {
    const world = boxWorld()
    const held = holdPlaces(['.git', 'baton.toml', '.mcp.json'].map((name) => join(world.work, name)))
    rmSync(join(world.work, 'baton.toml'), { recursive: true })
    writeFileSync(join(world.work, 'baton.toml'), '')
    mkdirSync(join(world.work, '.git/hooks'))
    writeFileSync(join(world.work, '.git/proxy.sock'), '')
    held.release()
    expect(readdirSync(world.work)).toEqual(['.git', '.keep', 'baton.toml'])
    expect(readdirSync(join(world.work, '.git'))).toEqual(['hooks', 'proxy.sock'])
  })

  it('does not stay when its process is killed', async () => {
    const world = boxWorld()
    const places = ['baton.toml', '.git'].map((name) => join(world.work, name))
    const script = `const { holdPlaces } = await import('./dist/tool/sandbox/hold-places.js'); holdPlaces(${JSON.stringify(places)}); console.log('held'); setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: root })
    await once(child.stdout, 'data')
    expect(readdirSync(world.work)).toContain('.git')
    child.kill('SIGKILL')
    await expect.poll(() => readdirSync(world.work)).toEqual(['.keep'])
  })
})
