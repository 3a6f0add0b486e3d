import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writeZip } from '../../src/base/zip-write.ts'
import { contentDigest, makeArchive, readPackFiles, secretPackFiles } from '../../src/pack/pack-files.ts'
import { type FetchedPack, fetchPack } from '../../src/pack/fetch-pack.ts'
import { install, installLocked, type InstallPlace, installPlace, planInstall } from '../../src/pack/install.ts'
import { type PackFrom, readLock } from '../../src/pack/lock-file.ts'
import { packStatus, presentPack } from '../../src/pack/pack-status.ts'
import { originText, parseSource } from '../../src/pack/source.ts'
import { tempTree } from '../helpers/temp.ts'

const context = { env: { PATH: process.env['PATH'], HOME: tempTree() }, signal: new AbortController().signal }

const yes = async (): Promise<boolean> => true

function manifest(version = '1.0.0', more = ''): string {
  return `# a comment\n[pack]\nnamespace = "demo"\nname = "notes"\nversion = "${version}"\n${more}`
}

function packTree(version?: string, more?: string): string {
  const folder = tempTree({
    'pack.toml': manifest(version, more),
    'main.aip': '# Output\n',
    'lua/wörter.lua': 'return {}\n',
    'bin/run.sh': '#!/bin/sh\n',
    'node_modules/x/index.js': 'left out',
    '.git/HEAD': 'left out',
    '.DS_Store': 'left out',
  })
  chmodSync(join(folder, 'bin/run.sh'), 0o755)
  return folder
}

function place(): InstallPlace {
  const folder = tempTree()
  return installPlace(join(folder, 'packs'), { agreedFile: join(folder, 'agreed.json') })
}

function get(source: string, { env, signal } = context): Promise<FetchedPack> {
  const read = parseSource(source, { cwd: '/', home: '/' })
  if (read.kind === 'identity') throw new Error('no source')
  return fetchPack(read, { env, signal })
}

async function put(source: string, to: InstallPlace): Promise<FetchedPack> {
  const pack = await get(source)
  install(pack, to, { now: new Date('2026-01-02T03:04:05.678Z') })
  return pack
}

async function serve<T>(answer: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

function git(cwd: string, ...args: readonly string[]): string {
  const own = ['-c', 'user.name=t', '-c', 'user.email=t@t.example', '-c', 'init.defaultBranch=main']
  const env = { PATH: process.env['PATH'], HOME: cwd, GIT_CONFIG_GLOBAL: '/dev/null' }
  return execFileSync('git', [...own, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
}

describe('installing packs', () => {
  it('copies a folder into place, reports the data of pack.toml, and locks it', async () => {
    const [folder, to] = [packTree(), place()]
    const { digest } = await put(folder, to)
    const target = join(to.root, 'demo/notes')
    expect(readdirSync(target).toSorted()).toEqual(['bin', 'lua', 'main.aip', 'pack.toml'])
    expect(statSync(join(target, 'bin/run.sh')).mode & 0o111).not.toBe(0)
    expect(readFileSync(join(target, 'pack.toml'), 'utf8')).toBe(
      `${manifest()}\n[installed]\ntime = "2026-01-02T03:04:05Z"\nsource = "${folder}"\n`,
    )
    expect(readLock(to.lockFile).get('demo@notes')).toEqual({
      version: '1.0.0',
      origin: { kind: 'folder', path: folder },
      digest,
      capabilities: undefined,
      installed: '2026-01-02T03:04:05Z',
    })
    expect(await presentPack('demo@notes', to)).toMatchObject({ state: 'locked', version: '1.0.0' })
    expect(readdirSync(to.root)).toEqual(['demo'])
  })

  it('computes the same digest for the folder, the archive, the installed pack and a reinstalled one', async () => {
    const [folder, to] = [packTree('1.0.0', '\n[installed]\ntime = "2020-01-01"\nsource = "/elsewhere"\n'), place()]
    const pack = await put(folder, to)
    const archive = join(tempTree(), 'x.aipack')
    writeFileSync(archive, await makeArchive(readPackFiles(join(to.root, 'demo/notes'))))
    const digests = [await get(archive), await get(join(to.root, 'demo/notes')), await get(folder)].map(
      ({ digest }) => digest,
    )
    expect(digests).toEqual([pack.digest, pack.digest, pack.digest])
    expect(await makeArchive(pack.files)).toEqual(
      await makeArchive(readPackFiles(folder).map((file) => pack.files.find(({ path }) => path === file.path) ?? file)),
    )
  })

  it.each<readonly [string, (folder: string) => void]>([
    ['another content', (folder) => writeFileSync(join(folder, 'main.aip'), 'x')],
    ['another mode', (folder) => chmodSync(join(folder, 'main.aip'), 0o755)],
    ['one file more', (folder) => writeFileSync(join(folder, 'more.aip'), '')],
    ['one file less', (folder) => rmSync(join(folder, 'main.aip'))],
    ['a link', (folder) => symlinkSync('main.aip', join(folder, 'link.aip'))],
    [
      'more rights in pack.toml',
      (folder) => writeFileSync(join(folder, 'pack.toml'), `${manifest()}\n[capabilities]\n`),
    ],
  ])('detects %s as a change', async (_, change) => {
    const to = place()
    await put(packTree(), to)
    change(join(to.root, 'demo/notes'))
    expect((await presentPack('demo@notes', to)).state).toBe('changed')
    expect(await packStatus({ identity: 'demo@notes', dir: join(to.root, 'demo/notes') }, to.root)).toMatchObject({
      integrity: 'changed',
    })
    await expect(
      installLocked(to, { force: false, now: () => new Date(), mayFetch: yes, agree: yes }, context),
    ).rejects.toMatchObject({
      code: 'UNTRUSTED',
    })
    await expect(planInstall(await get(packTree('2.0.0')), to, { force: false })).rejects.toThrow('was changed since')
  })

  it.each([
    ['1.0.1', 'install'],
    ['1.0.0', 'up to date'],
    ['0.9.9', 'is older than the installed 1.0.0'],
    ['1.0.0-rc.1', 'is older than the installed 1.0.0'],
    ['1.1.0-alpha', 'is a pre-release without a number'],
    ['1.1.0-alpha.1', 'install'],
  ])('when %s is installed over 1.0.0: %s', async (version, outcome) => {
    const to = place()
    await put(packTree(), to)
    const decided = planInstall(await get(packTree(version)), to, { force: false }).then(
      ({ kind }): string => kind,
      (error: Error) => error.message,
    )
    expect(await decided).toContain(outcome)
    expect(await planInstall(await get(packTree(version)), to, { force: true })).toMatchObject({ kind: 'install' })
  })

  it('refuses different content under the same version, and a folder that was copied manually', async () => {
    const to = place()
    await put(packTree(), to)
    const other = packTree('1.0.0', 'license = "MIT"\n')
    await expect(planInstall(await get(other), to, { force: false })).rejects.toThrow('is not the 1.0.0')
    const byHand = place()
    mkdirSync(join(byHand.root, 'demo/notes'), { recursive: true })
    await expect(planInstall(await get(other), byHand, { force: false })).rejects.toThrow('not put there by')
  })

  it('asks if the pack is new, needs more capabilities or has a different source, but not if it needs fewer', async () => {
    const to = place()
    const asks = async (folder: string): Promise<unknown> => planInstall(await get(folder), to, { force: false })
    const first = packTree('1.0.0', '[capabilities]\nread = ["a", "b"]\n')
    expect(await asks(first)).toMatchObject({ asks: 'new' })
    await put(first, to)
    writeFileSync(join(first, 'pack.toml'), manifest('1.0.1', '[capabilities]\nread = ["b"]\n'))
    expect(await asks(first)).toMatchObject({ asks: undefined })
    writeFileSync(join(first, 'pack.toml'), manifest('1.0.1', '[capabilities]\nread = ["b"]\nhosts = ["*"]\n'))
    expect(await asks(first)).toMatchObject({ asks: 'wider' })
    writeFileSync(join(first, 'pack.toml'), manifest('1.0.1'))
    expect(await asks(first)).toMatchObject({ asks: 'wider' })
    expect(await asks(packTree('1.0.1', '[capabilities]\nread = ["b"]\n'))).toMatchObject({ asks: 'source' })
  })

  it('keeps the old version when the new one cannot be written', async () => {
    const to = place()
    await put(packTree(), to)
    const pack = await get(packTree('2.0.0'))
    const bad = {
      ...pack,
      files: [...pack.files, { path: 'main.aip/x', isExecutable: false, bytes: new Uint8Array() }],
    }
    expect(() => install(bad, to, { now: new Date() })).toThrow('cannot be written')
    expect(await presentPack('demo@notes', to)).toMatchObject({ state: 'locked', version: '1.0.0' })
    expect(readdirSync(to.root)).toEqual(['demo'])
  })

  it('replaces a link itself, not its target', async () => {
    const [to, mine] = [place(), tempTree({ 'pack.toml': manifest(), 'mine.txt': 'kept' })]
    mkdirSync(join(to.root, 'demo'), { recursive: true })
    symlinkSync(mine, join(to.root, 'demo/notes'))
    expect(await planInstall(await get(packTree()), to, { force: true })).toMatchObject({ kind: 'install' })
    await put(packTree(), to)
    expect([lstatSync(join(to.root, 'demo/notes')).isDirectory(), existsSync(join(mine, 'mine.txt'))]).toEqual([
      true,
      true,
    ])
  })

  it.each(['baton@core', 'baton@new', 'Baton@core', 'nul@notes'])(
    'refuses a pack with the name %s',
    async (identity) => {
      const [namespace = '', name = ''] = identity.split('@')
      const text = `[pack]\nnamespace = "${namespace}"\nname = "${name}"\nversion = "9.0.0"\n`
      await expect(get(tempTree({ 'pack.toml': text }))).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringContaining(`a pack cannot be called ${identity}: `),
      })
    },
  )

  it('excludes files with secrets, from folders and from archives', async () => {
    const folder = packTree()
    const plain = await get(folder)
    const secret = ['.env', '.env.local', '.envrc', 'lua/.ENV.production']
    const shared = ['.env.example', '.envoy.lua', 'lua/env.lua']
    for (const path of [...secret, ...shared]) writeFileSync(join(folder, path), 'KEY=geheim')
    const paths = ['bin/run.sh', 'lua/wörter.lua', 'main.aip', 'pack.toml', ...shared].toSorted()
    expect(readPackFiles(folder).map(({ path }) => path)).toEqual(paths)
    expect(secretPackFiles(folder)).toEqual(secret)
    const archive = join(tempTree(), 'x.aipack')
    const env = { path: '.env', isExecutable: false, bytes: Buffer.from('KEY=geheim') }
    writeFileSync(archive, await makeArchive([...plain.files, env]))
    expect((await get(archive)).digest).toBe(plain.digest)
  })

  it('refuses a lock file that it has not written', async () => {
    const to = place()
    for (const text of ['', '[]', '{"version":2,"packs":{}}', '{"version":1,"packs":{"a@b":{"version":1}}}']) {
      mkdirSync(join(to.root, '..'), { recursive: true })
      writeFileSync(to.lockFile, text)
      await expect(presentPack('demo@notes', to)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    }
  })
})

describe('packs over the network', () => {
  it('downloads an archive, follows redirects, and stores no password in the lock', async () => {
    const bytes = await makeArchive((await get(packTree())).files)
    await serve(
      ({ url = '', headers }, response) => {
        if (url === '/a.aipack') return void response.writeHead(302, { location: '/b' }).end()
        response.writeHead(headers.authorization === undefined ? 401 : 200).end(bytes)
      },
      async (url) => {
        const to = place()
        await put(`${url.replace('//', '//me:geheim@')}/a.aipack`, to)
        expect(readLock(to.lockFile).get('demo@notes')?.origin).toEqual({ kind: 'url', url: `${url}/a.aipack` })
        expect(readFileSync(join(to.root, 'demo/notes/pack.toml'), 'utf8')).not.toContain('geheim')
        const answer = await get(`${url}/a.aipack`).catch((error: unknown) => error)
        expect(answer).toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('status 401') })
      },
    )
  })

  it('stores no query of an address in the lock, and reports if the address without it has different content', async () => {
    const bytes = await makeArchive((await get(packTree())).files)
    const other = await makeArchive((await get(packTree('2.0.0'))).files)
    const answers = new Map([
      ['/p.aipack?token=geheim', bytes],
      ['/p.aipack', other],
      ['/q.aipack?token=geheim', bytes],
    ])
    await serve(
      ({ url = '' }, response) => {
        response.writeHead(answers.has(url) ? 200 : 403).end(answers.get(url))
      },
      async (url) => {
        for (const [path, code] of [
          ['/p.aipack', 'UNTRUSTED'],
          ['/q.aipack', 'FILE_FAILED'],
        ] as const) {
          const to = place()
          await put(`${url}${path}?token=geheim#part`, to)
          expect(readLock(to.lockFile).get('demo@notes')?.origin).toEqual({
            kind: 'url',
            url: url + path,
            query: 'left out',
          })
          for (const file of [to.lockFile, join(to.root, 'demo/notes/pack.toml')]) {
            expect(readFileSync(file, 'utf8')).not.toContain('geheim')
          }
          rmSync(to.root, { recursive: true })
          const again = installLocked(to, { force: false, now: () => new Date(), mayFetch: yes, agree: yes }, context)
          await expect(again).rejects.toMatchObject({
            code,
            hint: expect.stringContaining(`baton install '${url}${path}?…'`),
          })
        }
        const failed = await get(`${url}/none.aipack?token=geheim`).catch((error: unknown) => error)
        expect(failed).toMatchObject({ code: 'FILE_FAILED', message: expect.not.stringContaining('geheim') })
      },
    )
  })

  it.each<readonly [string, RequestListener, string]>([
    ['no archive', (_, response) => void response.end('<html>'), 'is not a zip archive'],
    [
      'half an archive',
      (_, response) => void response.writeHead(200, { 'content-length': '99' }).write('PK', () => response.destroy()),
      'cannot be downloaded',
    ],
    [
      'a redirect to a file',
      (_, response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
      'file: is not http',
    ],
    [
      'redirects without end',
      (_, response) => void response.writeHead(302, { location: '/x.aipack' }).end(),
      'redirects more than',
    ],
  ])('refuses %s', async (_, answer, message) => {
    await serve(answer, async (url) => {
      await expect(get(`${url}/x.aipack`)).rejects.toMatchObject({
        code: 'FILE_FAILED',
        message: expect.stringContaining(message),
      })
    })
  })

  it('stops a download when it is cancelled', async () => {
    const stop = new AbortController()
    await serve(
      (_, response) => {
        response.write('PK')
        stop.abort(new Error('stopped by a test'))
      },
      async (url) => {
        const source = { kind: 'url', url: new URL(`${url}/x.aipack`) } as const
        await expect(fetchPack(source, { ...context, signal: stop.signal })).rejects.toThrow('stopped by a test')
      },
    )
  })
})

describe('packs in git', () => {
  function repository(): { readonly folder: string; readonly url: string } {
    const folder = tempTree({ 'packs/notes/pack.toml': manifest(), 'packs/notes/main.aip': 'one\n' })
    git(folder, 'init', '-q')
    git(folder, 'add', '.')
    git(folder, 'commit', '-qm', 'one')
    git(folder, 'tag', '-am', 'v1', 'v1')
    return { folder, url: `git+file://${folder}` }
  }

  function commitMore(folder: string, files: { readonly [path: string]: string }): string {
    for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
    git(folder, 'add', '.')
    git(folder, 'commit', '-qm', 'more')
    return git(folder, 'rev-parse', 'HEAD')
  }

  it('passes the password of a URL to git in no argument', async () => {
    const { folder } = repository()
    const commit = git(folder, 'rev-parse', 'HEAD')
    git(folder, 'update-server-info')
    const programs = tempTree()
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
    const log = join(programs, 'log')
    writeFileSync(join(programs, 'git'), `#!/bin/sh\necho "$@" >> '${log}'\nexec '${real}' "$@"\n`, { mode: 0o755 })
    const wanted = `Basic ${Buffer.from('user:S3cret/Passw0rd').toString('base64')}`
    const answer: RequestListener = ({ headers, url = '' }, response) => {
      const file = join(folder, new URL(url, 'http://x').pathname.replace(/^\/x\.git/, '.git'))
      if (headers.authorization !== wanted) response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
      else if (existsSync(file)) response.end(readFileSync(file))
      else response.writeHead(404).end()
    }
    const env = { PATH: `${programs}:${process.env['PATH']}`, HOME: programs }
    await serve(answer, async (base) => {
      const address = base.replace('//', '//user:S3cret%2FPassw0rd@')
      const pack = await get(`git+${address}/x.git@${commit}#packs/notes`, { ...context, env })
      expect(pack.origin).toMatchObject({ kind: 'git', commit })
      const wrong = get(`git+${base.replace('//', '//user:wr0ngPassword@')}/x.git`, { ...context, env })
      await expect(wrong).rejects.toThrow(/^git cannot fetch (?!.*wr0ng)/)
    })
    expect(readFileSync(log, 'utf8')).toContain('fetch')
    expect(readFileSync(log, 'utf8')).not.toMatch(/Passw0rd|wr0ng|user:/)
  })

  it('installs a tag, a branch or a commit, from a folder of the repository, without executing anything in it', async () => {
    const { folder, url } = repository()
    const first = git(folder, 'rev-parse', 'HEAD')
    const second = commitMore(folder, { 'packs/notes/main.aip': 'two\n', 'packs/notes/pack.toml': manifest('1.1.0') })
    const found = async (ref: string): Promise<unknown> => {
      const { origin, manifest: read } = await get(`${url}${ref}#packs/notes`)
      return [origin.kind === 'git' ? origin.commit : '', read.version]
    }
    expect(await found('')).toEqual([second, '1.1.0'])
    expect(await found('@v1')).toEqual([first, '1.0.0'])
    expect(await found(`@${first}`)).toEqual([first, '1.0.0'])
    expect(await found(`@${first.slice(0, 10)}`)).toEqual([first, '1.0.0'])
    expect(await found('@main')).toEqual([second, '1.1.0'])
  })

  it('installs exactly the locked commit again', async () => {
    const { folder, url } = repository()
    const to = place()
    await put(`${url}@main#packs/notes`, to)
    commitMore(folder, { 'packs/notes/main.aip': 'two\n' })
    rmSync(to.root, { recursive: true })
    const again = (): Promise<unknown> =>
      installLocked(to, { force: false, now: () => new Date(), mayFetch: yes, agree: yes }, context)
    expect(await again()).toEqual([{ identity: 'demo@notes', version: '1.0.0', outcome: 'installed' }])
    expect(readFileSync(join(to.root, 'demo/notes/main.aip'), 'utf8')).toBe('one\n')
    expect(await again()).toEqual([{ identity: 'demo@notes', version: '1.0.0', outcome: 'verified' }])

    rmSync(to.root, { recursive: true })
    writeFileSync(to.lockFile, readFileSync(to.lockFile, 'utf8').replace(/sha256:./, 'sha256:_'))
    await expect(again()).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringContaining('that was locked'),
    })
    expect(existsSync(to.root)).toBe(false)
  })

  it('asks once about packs of a lock that nobody here has approved', async () => {
    const to = place()
    await put(packTree('1.0.0', '[capabilities]\ncommands = ["git"]\n'), to)
    const here = { ...to, agreedFile: join(tempTree(), 'data/agreed.json') }
    const asked: string[] = []
    const again = (answer: boolean): Promise<unknown> => {
      rmSync(to.root, { recursive: true, force: true })
      const agree = async (packs: readonly FetchedPack[]): Promise<boolean> => {
        asked.push(packs.map(({ manifest: { identity } }) => identity).join())
        return answer
      }
      return installLocked(here, { force: false, now: () => new Date(), mayFetch: yes, agree }, context)
    }
    expect([await again(false), existsSync(to.root)]).toEqual([undefined, false])
    expect(await again(true)).toEqual([{ identity: 'demo@notes', version: '1.0.0', outcome: 'installed' }])
    expect(await again(false)).toMatchObject([{ outcome: 'installed' }])
    expect(asked).toEqual(['demo@notes', 'demo@notes'])
  })

  it('asks before it contacts an address from the lock of a workspace, unless the pack was installed from there', async () => {
    const to = { ...place(), workspace: tempTree() }
    const archive = await makeArchive(readPackFiles(packTree()))
    let requests = 0
    const answer: RequestListener = (_, response) => {
      requests += 1
      response.end(archive)
    }
    await serve(answer, async (url) => {
      await put(`${url}/notes.aipack`, to)
      const again = async (where: InstallPlace, answered: boolean): Promise<unknown> => {
        rmSync(to.root, { recursive: true, force: true })
        const asked: string[] = []
        requests = 0
        const mayFetch = async (packs: readonly PackFrom[]): Promise<boolean> => {
          asked.push(...packs.map(({ identity, origin }) => `${identity} ${originText(origin)}`))
          return answered
        }
        const done = await installLocked(where, { force: false, now: () => new Date(), mayFetch, agree: yes }, context)
        return [done?.length, requests, asked]
      }
      const named = [`demo@notes ${url}/notes.aipack`]
      expect(await again(to, false)).toEqual([1, 1, []])
      const stranger = { ...to, agreedFile: join(tempTree(), 'agreed.json') }
      expect(await again(stranger, false)).toEqual([undefined, 0, named])
      expect(await again(stranger, true)).toEqual([1, 1, named])
      expect(await again(stranger, false)).toEqual([1, 1, []])
      // the content is known, but the address is a different one
      writeFileSync(to.lockFile, readFileSync(to.lockFile, 'utf8').replace('/notes.aipack', '/other.aipack'))
      expect(await again(stranger, false)).toEqual([undefined, 0, [`demo@notes ${url}/other.aipack`]])
    })
  })

  it('accepts the lock of a workspace as approval only if it was approved here', async () => {
    const [folder, to] = [packTree('1.0.0', '[capabilities]\ncommands = ["git"]\n'), place()]
    const own = { ...to, workspace: tempTree() }
    await put(folder, own)
    writeFileSync(join(folder, 'pack.toml'), manifest('1.0.1', '[capabilities]\ncommands = ["git"]\n'))
    const next = await get(folder)
    expect(await planInstall(next, own, { force: false })).toMatchObject({ asks: undefined })
    const elsewhere = { ...own, agreedFile: join(tempTree(), 'agreed.json') }
    expect(await planInstall(next, elsewhere, { force: false })).toMatchObject({ asks: 'new', granted: undefined })
    writeFileSync(elsewhere.agreedFile, '[]')
    await expect(planInstall(next, elsewhere, { force: false })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('refuses a lock that grants more than the pack requests', async () => {
    const to = place()
    await put(packTree('1.0.0', '[capabilities]\ncommands = ["git"]\n'), to)
    rmSync(to.root, { recursive: true })
    writeFileSync(to.lockFile, readFileSync(to.lockFile, 'utf8').replace('"git"', '"git", "sh"'))
    await expect(
      installLocked(to, { force: false, now: () => new Date(), mayFetch: yes, agree: yes }, context),
    ).rejects.toThrow('other capabilities')
  })

  it.each([
    ['a branch that is not there', '@nope#packs/notes', "couldn't find remote ref nope"],
    ['a folder that is not there', '#packs/other', 'packs/other does not exist'],
    ['a repository without a pack', '', 'There is one in packs/notes/pack.toml'],
    ['a link in the pack', '@link#packs/notes', 'is a link'],
    ['a link that leads out', '@link#out', 'leads out of the repository'],
  ])('refuses %s', async (_, ref, message) => {
    const { folder, url } = repository()
    git(folder, 'checkout', '-qb', 'link')
    symlinkSync('/etc/passwd', join(folder, 'packs/notes/passwd.lua'))
    symlinkSync('/', join(folder, 'out'))
    commitMore(folder, {})
    git(folder, 'checkout', '-q', 'main')
    const error = (await get(`${url}${ref}`).catch((thrown: unknown) => thrown)) as { message: string; hint?: string }
    expect(`${error.message} ${error.hint ?? ''}`).toContain(message)
    expect(error.message).not.toContain('baton-pack-')
  })
})

describe('hostile packs', () => {
  const bytes = (text: string): Uint8Array => Buffer.from(text)
  const file = (path: string, text = ''): Parameters<typeof writeZip>[0] extends Iterable<infer E> ? E : never => ({
    kind: 'file',
    path,
    content: bytes(text),
    isExecutable: false,
  })

  it.each([
    '../up.lua',
    'a/../../up.lua',
    '/etc/cron.d/x',
    'C:/x.lua',
    'a\\..\\..\\x.lua',
    'nul.lua',
    'a\u0000b',
    'x\u202Eaul.exe',
    `${'d/'.repeat(70)}x`,
    'x'.repeat(300),
    'PACK.TOML',
    'pack.toml/x',
  ])('refuses an archive with %j, and writes nothing', async (path) => {
    const folder = tempTree({ 'x.aipack': writeZip([file('pack.toml', manifest()), file(path, 'x')]) })
    const to = place()
    await expect(put(join(folder, 'x.aipack'), to)).rejects.toMatchObject({ code: 'FILE_FAILED' })
    expect([readdirSync(folder), existsSync(to.root)]).toEqual([['x.aipack'], false])
  })

  it('refuses an archive that expands excessively', async () => {
    const bomb = writeZip([
      file('pack.toml', manifest()),
      { ...file('big.bin'), content: new Uint8Array(4 * 1024 * 1024) } as never,
    ])
    const folder = tempTree({ 'x.aipack': bomb })
    await expect(get(join(folder, 'x.aipack'))).rejects.toThrow('it looks like a zip bomb')
  })

  it.each([
    ['no pack.toml', {}, 'has no pack.toml'],
    [
      'a namespace that climbs',
      { 'pack.toml': manifest().replace('demo', '../..') },
      '"pack.namespace" cannot be "../.."',
    ],
    ['a name with a slash', { 'pack.toml': manifest().replace('notes', 'a/b') }, '"pack.name" cannot be "a/b"'],
    ['no version', { 'pack.toml': '[pack]\nnamespace = "a"\nname = "b"\n' }, 'has no "version"'],
    ['a version with an escape', { 'pack.toml': manifest('1.0.0\\u001b[2J') }, '"pack.version" cannot be'],
    ['what is no TOML', { 'pack.toml': '[pack' }, 'is not valid TOML'],
    ['what is no text', { 'pack.toml': Buffer.from([0xff, 0xfe, 0]) }, 'is not UTF-8'],
    [
      'capabilities that are wrong',
      { 'pack.toml': manifest('1.0.0', '[capabilities]\nread = ["../.."]\n') },
      'has an invalid entry "../.."',
    ],
    [
      '[installed] in a text',
      { 'pack.toml': `${manifest()}x = """\n[installed]\n"""\n[installed]\ntime = 1\n` },
      '"installed" in',
    ],
  ])('refuses a folder with %s', async (_, files, message) => {
    await expect(get(tempTree(files))).rejects.toThrow(message)
  })

  it('refuses links and pipes in a folder', async () => {
    const folder = packTree()
    symlinkSync('/etc/passwd', join(folder, 'passwd.lua'))
    await expect(get(folder)).rejects.toThrow('passwd.lua is a link')
    rmSync(join(folder, 'passwd.lua'))
    execFileSync('mkfifo', [join(folder, 'pipe')])
    await expect(get(folder)).rejects.toThrow('is not a regular file')
  })

  it('distinguishes contents whose concatenated names and texts are equal', () => {
    const one = (path: string, text: string) => ({ path, isExecutable: false, bytes: bytes(text) })
    const digests = [
      contentDigest([one('a', 'b'), one('c', 'd')]),
      contentDigest([one('a', 'bc'), one('', 'd')]),
      contentDigest([one('a', 'd'), one('c', 'b')]),
      contentDigest([one('ac', 'bd')]),
      contentDigest([]),
    ]
    expect(new Set(digests).size).toBe(5)
    expect(contentDigest([one('c', 'd'), one('a', 'b')])).toBe(digests[0])
  })
})

it('the lock of a workspace is refused if it is a link to the outside, and its target is not shown', () => {
  const outside = tempTree({ 'keys.json': 'hidden = 1\n', 'whole/packs.lock': 'hidden = 1\n' })
  for (const [link, target] of [
    ['.baton/packs.lock', join(outside, 'keys.json')],
    ['.baton', join(outside, 'whole')],
  ] as const) {
    const workspace = tempTree(link === '.baton' ? { '.git/HEAD': '' } : { '.baton/x': '' })
    symlinkSync(target, join(workspace, link))
    let thrown: unknown
    try {
      readLock(join(workspace, '.baton/packs.lock'))
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: expect.stringContaining('through the link .baton'),
    })
    expect(String(thrown)).not.toContain('hidden')
  }
})
