// Takes the pictures of docs/images: serves a small workspace with runs of a scripted model, and opens its page in
// Chromium.
//   npm run screenshots                          all pictures
//   npm run screenshots -- waterfall compare     only these
//   npm run screenshots -- --to FOLDER           elsewhere
//   npm run screenshots -- --package FOLDER      of another build, the folder that has its dist/
//   npm run screenshots -- --png                 as PNG, to be looked at where WebP is not shown
//   npm run screenshots -- --narrow --dark       of a narrow screen, or in dark colors, to be looked at
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs, promisify } from 'node:util'
import { chromium } from 'playwright-core'
import { register } from 'tsx/esm/api'
import { config, files, reply, secrets } from './screenshots-world.mjs'

/**
 * The pictures: where the page is opened, and what is done until it shows what is wanted. To add one, add a row, and to
 * the workspace what it shows; a picture has at most 60 kB.
 */
const pictures = {
  runs: { show: (page) => page.getByRole('row').filter({ hasText: 'improve.md' }).first().waitFor() },
  run: {
    at: ({ agent }) => `#/runs/${agent}`,
    show: (page) => page.locator('.markdown').first().waitFor(),
  },
  waterfall: {
    at: ({ agent }) => `#/runs/${agent}/waterfall`,
    show: (page) => page.getByRole('row').nth(2).waitFor(),
  },
  charts: { at: ({ tasks }) => `#/runs/${tasks}/charts`, show: (page) => page.locator('svg').first().waitFor() },
  compare: {
    at: ({ before, after }) => `#/compare/${before}/${after}`,
    show: (page) => page.locator('.difference').first().waitFor(),
  },
  inbox: {
    at: () => '#/inbox',
    show: (page) => page.locator('.approval .diff').first().waitFor(),
  },
  form: {
    at: () => '#/new/translate.md',
    show: async (page) => {
      await page.getByRole('textbox', { name: 'file (required)' }).fill('src/cart.ts')
      await page.getByLabel('words').fill('many')
      await page.getByRole('button', { name: 'Start' }).click()
      await page.getByText('is required').first().waitFor()
    },
  },
  triggers: {
    at: () => '#/triggers',
    show: (page) => page.getByRole('listitem', { name: 'Trigger discount' }).getByText('waiting').first().waitFor(),
  },
  file: {
    at: () => '#/files/improve.md',
    show: async (page) => {
      await page.getByRole('img', { name: /^Score of/ }).waitFor()
      await page.getByRole('row', { name: /^as written/ }).waitFor()
    },
  },
  tests: {
    at: () => '#/files/count.md',
    show: async (page) => {
      await page.getByText('no notes').first().waitFor()
      await page.getByRole('button', { name: 'Run the tests' }).scrollIntoViewIfNeeded()
    },
  },
  approval: {
    at: ({ waiting }) => `#/runs/${waiting}`,
    show: (page) => page.locator('.approval .diff').first().waitFor(),
  },
  conversation: {
    at: ({ conversation }) => `#/conversations/${conversation}`,
    show: (page) => page.locator('.message .diff').waitFor(),
  },
  phone: {
    at: ({ conversation }) => `#/conversations/${conversation}`,
    narrow: true,
    dark: true,
    show: (page) => page.locator('.message .diff').waitFor(),
  },
}

const root = join(import.meta.dirname, '..')
const { values, positionals } = parseArgs({
  options: {
    to: { type: 'string' },
    package: { type: 'string' },
    png: { type: 'boolean' },
    narrow: { type: 'boolean' },
    dark: { type: 'boolean' },
  },
  allowPositionals: true,
})
const target = resolve(values.to ?? join(root, 'docs/images'))
const command = join(resolve(values.package ?? root), 'dist/bin/baton.js')
const format = values.png === true ? 'png' : 'webp'
const most = values.png === true ? Number.POSITIVE_INFINITY : 60_000

const unknown = positionals.filter((name) => pictures[name] === undefined)
if (unknown.length > 0)
  throw new Error(`no picture ${unknown.join(', ')}; there are ${Object.keys(pictures).join(', ')}`)
register()
const { startModelServer } = await import('../test/helpers/model-server.ts')

const folder = mkdtempSync(join(tmpdir(), 'baton-screenshots-'))
const workspace = join(folder, 'shop')
const model = await startModelServer(reply)
const env = {
  ...process.env,
  HOME: folder,
  BATON_HOME: join(folder, 'home'),
  BATON_GATEWAY_URL: model.url,
  BATON_LOCAL_SERVERS: 'off',
  ...secrets,
}
writeTree(workspace, files())
writeTree(folder, { 'home/config/config.toml': config })
let server
try {
  await git('init', '-q', '-b', 'main')
  await git('add', '.')
  await git('commit', '-qm', 'A shop')
  server = await serve()
  const runs = await fill()
  await take(runs)
} finally {
  await server?.stop()
  await model.close()
  rmSync(folder, { recursive: true, force: true })
}

function writeTree(to, tree) {
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(to, path)), { recursive: true })
    writeFileSync(join(to, path), text)
  }
}

async function git(...args) {
  const who = ['-c', 'user.name=You', '-c', 'user.email=you@example.com']
  await promisify(execFile)('git', [...who, ...args], { cwd: workspace, env })
}

async function baton(...args) {
  const run = promisify(execFile)(process.execPath, [command, ...args], { cwd: workspace, env })
  await run.catch(({ code, stderr }) => {
    // a failed task or test is part of a picture
    if (code !== 1 && code !== 100) throw new Error(stderr)
  })
}

async function serve() {
  const child = spawn(process.execPath, [command, 'serve', '--json'], {
    cwd: workspace,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = await Promise.race([
    promisify((done) => createInterface(child.stdout).once('line', (text) => done(undefined, [text])))(),
    promisify((done) => child.once('exit', () => done(new Error('baton serve has ended'))))(),
  ])
  const { url: address, secret } = JSON.parse(line)
  const url = new URL(address).origin
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const ask = async (path, body) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${url}${path}`, { headers, ...init })
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return response.json()
  }
  const stop = async () => {
    child.kill()
    await once(child, 'exit')
  }
  return { address, url, ask, stop }
}

/** Runs everything that the pictures show; returns the ids. */
async function fill() {
  const newest = async () => (await server.ask('/api/runs?limit=1')).runs[0].id
  const ended = async (id) => {
    for (;;) {
      const { run, approvals } = await server.ask(`/api/runs/${id}`)
      if (run.status !== 'running' || approvals.length > 0) return id
      await new Promise((again) => setTimeout(again, 100))
    }
  }
  const started = async (body) => ended((await server.ask('/api/runs', body)).id)
  await baton('run', 'improve.md')
  await baton('run', 'name.md')
  const before = await newest()
  writeFileSync(
    join(workspace, 'name.md'),
    'Suggest a name for the function that counts the items of a cart, in one word.\n',
  )
  await baton('run', 'name.md')
  const after = await newest()
  const { promptId, conversationId: conversation } = await server.ask('/prompt', { input: 'What does total do?' })
  await ended(promptId)
  writeFileSync(join(workspace, 'src/cart.ts'), files()['src/cart.ts'])
  const question = 'The number of items is wrong when something is bought twice. Please fix it.'
  const { promptId: second } = await server.ask('/prompt', { input: question, conversationId: conversation })
  await ended(second)
  for (const { id } of (await server.ask(`/api/runs/${second}`)).approvals)
    await server.ask(`/api/runs/${second}/approvals/${id}/approve`, {})
  await ended(second)
  writeFileSync(join(workspace, 'src/cart.ts'), files()['src/cart.ts'])
  const agent = await started({ file: 'fix.md' })
  writeFileSync(join(workspace, 'src/cart.ts'), files()['src/cart.ts'])
  const inputs = ['src/cart.ts', 'src/item.ts', 'src/price.ts', 'src/user.ts']
  const tasks = await started({ file: 'review.md', inputs })
  const waiting = await started({ file: 'discount.md' })
  writeFileSync(join(workspace, 'notes.txt'), files()['notes.txt'])
  await baton('run', 'improve.md', '--iter', '2')
  await baton('test', 'count.md')
  for (const name of ['nightly-review', 'notes', 'discount'])
    await ended((await server.ask(`/api/triggers/${name}/start`, {})).id)
  return { before, after, conversation, agent, tasks, waiting }
}

async function take(runs) {
  mkdirSync(target, { recursive: true })
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const context = await browser.newContext()
    const first = await context.newPage()
    await first.goto(server.address)
    await first.getByRole('navigation').waitFor()
    for (const [name, picture] of Object.entries(pictures)) {
      if (positionals.length > 0 && !positionals.includes(name)) continue
      const { at = () => '#/', narrow = values.narrow ?? false, dark = values.dark ?? false, show } = picture
      const page = await context.newPage()
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' })
      await page.setViewportSize(narrow ? { width: 375, height: 760 } : { width: 1160, height: 700 })
      await page.goto(`${server.url}/${at(runs)}`)
      await show(page)
      const session = await context.newCDPSession(page)
      const { data } = await session.send('Page.captureScreenshot', {
        format,
        ...(format === 'webp' && { quality: 75 }),
      })
      const bytes = Buffer.from(data, 'base64')
      if (bytes.length > most) throw new Error(`${name} has ${bytes.length} bytes, more than ${most}`)
      writeFileSync(join(target, `page-${name}.${format}`), bytes)
      process.stdout.write(`page-${name}.${format} ${bytes.length} bytes\n`)
      await page.close()
    }
  } finally {
    await browser.close()
  }
}
