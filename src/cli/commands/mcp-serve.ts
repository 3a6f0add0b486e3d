import { Writable } from 'node:stream'
import { filesNamed } from '../../authoring/files-in-folder.ts'
import type { Offered } from '../../serve/mcp/protocol.ts'
import { type CommandIo, surroundings } from '../io.ts'
import type { GlobalFlags } from '../command.ts'
import { usageError } from '../command.ts'

/** What `baton mcp serve` is given. */
export interface McpServeFlags extends Pick<GlobalFlags, 'chdir' | 'config' | 'level'> {
  /** Prompt files, agents, packs, and folders of them. */
  readonly files: readonly string[]
  readonly model?: string | undefined
  readonly timeout?: string | undefined
  /** Listen on this port of this machine; 0: one that is free. Left out: standard input and output are the connection. */
  readonly port?: number | undefined
}

/** `baton mcp serve FILE...`: offers files to clients as tools, until the client leaves or Ctrl-C. */
export async function mcpServeCommand(flags: McpServeFlags, io: CommandIo): Promise<number> {
  const { files, model, timeout, config, level, port } = flags
  if (files.length === 0) throw usageError('name what to serve', 'baton mcp serve pipelines/review.md agents/')
  const around = surroundings(flags, io)
  const place = { cwd: around.cwd, home: around.home, env: { ...around.env } }
  const named = await filesNamed(files, place, io.signal)
  const all = [...new Set(named.flatMap((one) => one.files))]
  const shared = {
    overrides: config,
    ...(model === undefined ? {} : { model }),
    ...(timeout === undefined ? {} : { timeout }),
  }
  const { readOffered } = await import('../../serve/mcp/offered.ts')
  const offered = await readOffered(all, { ...place, shared })
  const note = (text: string): void => {
    if (level !== 'quiet') io.err(text)
  }
  if (port !== undefined) return serveHttp(offered, { port, secret: place.env['BATON_MCP_SECRET'], note }, io)
  note(`serving ${offered.offers.map(({ name }) => name).join(', ')} over standard input and output\n`)
  return serveStdio(offered, io)
}

async function serveStdio(offered: Offered, io: CommandIo): Promise<number> {
  const { serveStreams } = await import('../../serve/mcp/protocol.ts')
  const output = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      io.out(typeof chunk === 'string' ? chunk : chunk.toString('utf8'))
      done()
    },
  })
  return new Promise((resolve, reject) => {
    const end = (): void => {
      io.signal.removeEventListener('abort', end)
      served.close().then(() => (io.signal.aborted ? reject(io.signal.reason as Error) : resolve(0)), reject)
    }
    const served = serveStreams(offered, { input: io.input(), output, onClose: end })
    io.signal.addEventListener('abort', end, { once: true })
  })
}

interface HttpOptions {
  readonly port: number
  readonly secret: string | undefined
  readonly note: (text: string) => void
}

async function serveHttp(offered: Offered, { port, secret: given, note }: HttpOptions, io: CommandIo): Promise<number> {
  const [{ serveWeb }, { listen, newSecret }] = await Promise.all([
    import('../../serve/mcp/protocol.ts'),
    import('../../serve/mcp/listen.ts'),
  ])
  if (given !== undefined && given.length < 16) {
    throw usageError('BATON_MCP_SECRET has fewer than 16 characters', 'Leave it unset to get a secret of its own.')
  }
  const secret = given ?? newSecret()
  const listening = await listen(serveWeb(offered), { port, secret })
  note(`serving ${offered.offers.map(({ name }) => name).join(', ')}\n`)
  io.out(`${listening.url}\n`)
  if (given === undefined) note(`secret: ${secret}\nClients send it as "Authorization: Bearer SECRET". Ctrl-C ends.\n`)
  await new Promise<void>((resolve) => io.signal.addEventListener('abort', () => resolve(), { once: true }))
  await listening.close()
  throw io.signal.reason
}
