import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { isHeldPlace } from '../../../src/base/held-place.ts'
import { workspaceConfigFile } from '../../../src/config/locate.ts'
import { createSources } from '../../../src/event/sources.ts'
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

it('is no box with "danger-full-access": the command itself runs, and writes wherever its user may', async () => {
  const end = await inBox('echo new > "$HOME/made.txt"; echo "$HOME"', { rights: { mode: 'danger-full-access' } })
  expect(end).toMatchObject({ code: 0, out: `${end.home}\n` })
  expect(readFileSync(join(end.home, 'made.txt'), 'utf8')).toBe('new\n')
})

describe.skipIf(!hasBox)('a box of bwrap (needs bwrap and user namespaces)', () => {
  it('lets a command change the workspace, and tells how it ended', async () => {
    const end = await inBox('echo new > made.txt; echo out; echo err >&2; exit 3')
    expect(end).toMatchObject({ code: 3, out: 'out\n', err: 'err\n', stopped: undefined, warnings: [] })
    expect(readFileSync(join(end.work, 'made.txt'), 'utf8')).toBe('new\n')
  })

  it('only reads with "read-only"', async () => {
    const end = await inBox('cat a.txt; echo new > made.txt', {
      files: { 'a.txt': 'a\n' },
      rights: { mode: 'read-only' },
    })
    expect(end.out).toBe('a\n')
    expect(end.err).toContain('Read-only file system')
    expect(existsSync(join(end.work, 'made.txt'))).toBe(false)
  })

  it('hides keys, the state of Baton and the folders of others', async () => {
    const end = await inBox('cat .env deep/er/.env.local; ls ~/.ssh; cat ~/.netrc; ls "$STATE"; ls /tmp', {
      files: { '.env': 'KEY=1\n', 'deep/er/.env.local': 'KEY=2\n', 'deep/.env.example': 'KEY=\n' },
    })
    expect(end.out).not.toContain('KEY')
    expect(end.err.match(/Permission denied/g)).toHaveLength(2)
  })

  it('hides keys as well when a command has put much in the way, or a link to all', async () => {
    const world = boxWorld({ files: { 'a/b/.env': 'KEY=1\n' } })
    const line =
      'ln -s / .env; ln -s .. .env.up; i=0; while [ $i -lt 200 ]; do : > .env.$i; i=$((i+1)); done; echo done'
    expect(await runInBox(line, world)).toMatchObject({ out: 'done\n' })
    const end = await runInBox('cat a/b/.env; echo ran', world)
    expect(end.out).toBe('ran\n')
    expect(end.warnings.join()).toContain('is too large to scan completely')
  })

  it('writes no agent that the run executes afterwards', async () => {
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

  it('keeps what decides what is run', async () => {
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

  it('is told of a workspace that protects nothing, because a protected name is a link', async () => {
    const end = await inBox('echo x > a.txt', { prepare: ({ work }) => symlinkSync('elsewhere', join(work, '.git')) })
    expect(end.err).toContain('Read-only file system')
    expect(end.warnings.join()).toContain('is a link')
  })
})

describe.skipIf(!hasBox)('what is not there and must not be made (needs bwrap and user namespaces)', () => {
  const attempts = [
    'mkdir -p .git/hooks',
    'mkdir .baton',
    'mkdir .aipack/pack',
    'echo x > baton.toml',
    'echo x > .mcp.json',
  ]
  const line = attempts.map((attempt) => `(${attempt}) && echo DONE`).join('; ')

  it('is not made, and nothing of it is left', async () => {
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

  it('is held again by each of many boxes, one right behind the other', async () => {
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

  it('is no config and no repository meanwhile', async () => {
    const world = boxWorld()
    const held = holdPlaces(['baton.toml', '.git'].map((name) => join(world.work, name)))
    expect(workspaceConfigFile(world.work)).toBeUndefined()
    expect(isHeldPlace(join(world.work, '.git'))).toBe(true)
    held.release()
    expect(readdirSync(world.work)).toEqual(['.keep'])
  })

  it('lets go of all of them, also when something else was put there meanwhile', () => {
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

  it('does not stay when the process is killed that holds it', async () => {
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
