import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { HttpServed } from './http-served.ts'

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => spawnSync(path, ['--version']).status === 0,
)
export const hasChromium = program !== undefined

/** `problems`: what the page writes to the console when something is wrong. */
export interface Opened {
  readonly page: Page
  readonly problems: readonly string[]
}

/**
 * The address bar of each window loads two pages, which take as long as all else that the browser does. The last list of
 * these features counts: it repeats what Playwright turns off against requests of its own and for tests of servers
 * without https.
 */
const withoutFeatures =
  'WebUIOmniboxPopup,WebUIOmniboxAimPopup,AimEnabled,AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,' +
  'HttpsFirstBalancedModeAutoEnable,HttpsUpgrades,LensOverlay,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,' +
  'PaintHolding,PreconnectToSearch,ThirdPartyStoragePartitioning'

const shared: { browser?: Promise<Browser> } = {}

/** Closes the browser of all pages of a test file: for `afterAll`. */
export async function closeBrowser(): Promise<void> {
  const browser = await shared.browser
  delete shared.browser
  await browser?.close()
}

interface PageOptions {
  /** The hash of the view to show. */
  readonly route?: string
  /** Default: a new one. */
  readonly address?: string
}

/**
 * Opens the page of a server as a user does, by an address with a ticket. It is closed with the test, and shares
 * nothing with other pages but the browser, which `closeBrowser` closes.
 */
export async function openPage(
  { serving }: Pick<HttpServed, 'serving'>,
  { route = '', address = serving.newAddress(), ...options }: BrowserContextOptions & PageOptions = {},
): Promise<Opened> {
  shared.browser ??= chromium.launch({
    executablePath: program ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--in-process-gpu', `--disable-features=${withoutFeatures}`],
  })
  const browser = await shared.browser
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const problems: string[] = []
  page.on('console', (message) => {
    // a stream of events ends when its run does
    const isEnd = message.text().includes('net::ERR_')
    if (message.type() === 'error' && !isEnd) problems.push(message.text())
  })
  page.on('pageerror', (error) => void problems.push(String(error)))
  await page.goto(address)
  await page.getByRole('navigation').waitFor()
  if (route !== '') await page.goto(`${serving.url}/${route}`)
  return { page, problems }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly where: readonly string[]
}

/** Accessibility problems of the page, as found by axe-core. */
export async function violationsIn(page: Page): Promise<readonly Violation[]> {
  return page.evaluate(async (source) => {
    // oxlint-disable-next-line no-implied-eval -- in the browser, whose tools the policy of the page does not bind
    new Function(source)()
    const { axe: checker } = globalThis as unknown as {
      readonly axe: {
        readonly run: (options: { readonly resultTypes: readonly ['violations'] }) => Promise<{
          readonly violations: readonly {
            readonly id: string
            readonly impact: string
            readonly nodes: readonly { readonly html: string }[]
          }[]
        }>
      }
    }
    const { violations } = await checker.run({ resultTypes: ['violations'] })
    return violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      where: nodes.map(({ html }) => html.slice(0, 200)),
    }))
  }, axe)
}
