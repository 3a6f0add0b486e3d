import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { baton, type BatonResult, root } from '../../helpers/baton.ts'
import { type ModelReply, startModelServer } from '../../helpers/model-server.ts'
import { tempTree } from '../../helpers/temp.ts'

export const home = '.aipack/.prompt/mini@coder'
export const promptFile = `${home}/prompt.md`
export const workbench = `${home}/workbench-default`
export const cache = `${workbench}/.cache`

const pack = join(root, 'test/fixtures/packs/mini@coder')

/** The answers of each model; models that are not listed are unknown to the server. */
interface Answers {
  readonly [model: string]: string | ((request: Asked) => string)
}

export interface Asked {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  /** All messages as one text. */
  readonly text: string
  readonly body: { readonly [key: string]: unknown }
}

interface Ran extends BatonResult {
  readonly asked: readonly Asked[]
  /** stdout and stderr. */
  readonly said: string
}

export interface World {
  readonly folder: string
  readonly read: (path: string) => string
  readonly run: (args: readonly string[], answers?: Answers) => Promise<Ran>
  readonly trust: (path: string) => Promise<BatonResult>
}

export interface WorldOptions {
  readonly engine: 'lua54' | 'fengari'
  /** Files below the user's home. */
  readonly userFiles?: { readonly [path: string]: string }
}

/** A workspace with the pack `mini@coder` and these files; commands really run in it, models are scripted. */
export function createWorld(files: { readonly [path: string]: string | Uint8Array }, options: WorldOptions): World {
  const folder = tempTree({ '.aipack/config.toml': '[options]\nmodel = "mini-default"\n', ...files })
  const userHome = tempTree(options.userFiles)
  const env = { HOME: userHome, BATON_HOME: join(userHome, 'baton') }
  cpSync(pack, join(folder, '.aipack/pack/custom/mini/coder'), { recursive: true })

  async function run(args: readonly string[], answers: Answers = {}): Promise<Ran> {
    const server = await startModelServer(({ body }) => replyOf(askedOf(body), answers))
    try {
      const result = await baton(['run', ...args, '-c', `lua.engine=${options.engine}`], {
        cwd: folder,
        env: { ...env, BATON_GATEWAY_URL: server.url, BATON_GATEWAY_KEY: 'a-key' },
      })
      const asked = server.requests.map(({ body }) => askedOf(body))
      return { ...result, asked, said: `${result.stdout}\n${result.stderr}` }
    } finally {
      await server.close()
    }
  }

  return {
    folder,
    run,
    trust: (path) => baton(['trust', path], { cwd: folder, env }),
    read: (path) => readFileSync(join(folder, path), 'utf8'),
  }
}

function askedOf(body: { readonly [key: string]: unknown } | null): Asked {
  const { model, messages } = body as unknown as Pick<Asked, 'model' | 'messages'>
  const text = messages.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
  return { model, messages, text: text.join('\n'), body: body ?? {} }
}

function replyOf(asked: Asked, answers: Answers): ModelReply {
  const answer = answers[asked.model]
  if (answer === undefined) {
    return { status: 404, body: { error: { message: `the model ${asked.model} does not exist` } } }
  }
  return { text: typeof answer === 'string' ? answer : answer(asked) }
}

/** The text of a prompt file: settings, instruction, and what an earlier run left below them. */
export function promptText(meta: string, instruction: string, below = ''): string {
  return `${promptHead(meta, instruction)}\n====\n${below}`
}

export function promptHead(meta: string, instruction: string): string {
  return `\`\`\`yaml\n#!meta\n${meta.trim()}\n\`\`\`\n\n${instruction}\n`
}

/** An answer with file changes. */
export function changes(...directives: readonly string[]): string {
  return `<FILE_CHANGES>\n${directives.join('\n')}\n</FILE_CHANGES>`
}

export function fileNew(path: string, text: string): string {
  return `<FILE_NEW file_path="${path}">\n${text}\n</FILE_NEW>`
}

export function filePatch(path: string, hunks: string): string {
  return `<FILE_PATCH file_path="${path}">\n${hunks}\n</FILE_PATCH>`
}

/** The paths of the tags of this kind in a request. */
export function paths({ text }: Asked, tag: string): readonly string[] {
  return [...text.matchAll(new RegExp(`<${tag} path="([^"]+)"`, 'g'))].map(([, path = '']) => path)
}
