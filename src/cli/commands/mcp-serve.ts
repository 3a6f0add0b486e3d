import { Writable } from 'node:stream'
import { harmless } from '../../base/terminal-text.ts'
import { filesNamed } from '../../authoring/files-in-folder.ts'
import type { Offered } from '../../serve/mcp/protocol.ts'
import { type CommandIo, surroundings } from '../io.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { portOf, secretOf, untilStopped } from '../local-server.ts'

/** `baton mcp serve FILE...`: offers files to clients as tools, until the client disconnects or Ctrl-C. */
export async function serveFiles(files: readonly string[], flags: Flags<'mcp'>, io: CommandIo): Promise<number> {
  const { model, timeout, config, level } = flags
  const port = portOf(flags.port)
  if (files.length === 0)
    throw usageError('name the files to serve', 'For example: baton mcp serve pipelines/review.md agents/')
  const around = surroundings(flags, io)
  // programs started by runs must not get the secret
  const { BATON_MCP_SECRET: secret, ...env } = around.env
  const place = { cwd: around.cwd, home: around.home, env }
  const named = await filesNamed(files, place, io.signal)
  const all = [...new Set(named.flatMap((one) => one.files))]
  const shared = {
    overrides: config,
    ...(model === undefined ? {} : { model }),
    ...(timeout === undefined ? {} : { timeout }),
  }
  const note = (text: string): void => {
    if (level !== 'quiet') io.err(text)
  }
  const { readOffers } = await import('../../serve/mcp/read-offers.ts')
  const offered = await readOffers(all, { ...place, shared, log: (text) => note(`${harmless(text)}\n`) })
  if (port !== undefined) return serveHttp(offered, { port, secret, note }, io)
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
  io.signal.throwIfAborted()
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
  const [{ serveWeb }, { listen }, { newSecret }] = await Promise.all([
    import('../../serve/mcp/protocol.ts'),
    import('../../serve/mcp/listen.ts'),
    import('../../serve/listen.ts'),
  ])
  const secret = given === undefined ? newSecret() : secretOf('BATON_MCP_SECRET', given)
  const listening = await listen(serveWeb(offered), { port, secret })
  note(`serving ${offered.offers.map(({ name }) => name).join(', ')}\n`)
  io.out(`${listening.url}\n`)
  if (given === undefined)
    note(`secret: ${secret}\nClients send it as "Authorization: Bearer SECRET". Ctrl-C stops the server.\n`)
  await untilStopped(io)
  await listening.close()
  throw io.signal.reason
}
