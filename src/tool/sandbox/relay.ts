import { shellWord } from '../../base/command.ts'
import { givenFolder } from './bwrap.ts'

/** The port of the proxy in the sandbox, which has its own network namespace with nothing else in it. */
export const proxyPort = 3128

/** The name of the proxy's socket among the files given to a sandbox. */
export const socketName = 'proxy.sock'

const socket = `${givenFolder}/${socketName}`

/**
 * Runs in the sandbox: forwards connections on the port to the socket of the proxy outside. A side that has closed its
 * sending direction still gets its answer.
 */
const program = `
const net = require('node:net')
net.createServer({ allowHalfOpen: true }, (inner) => {
  const outer = net.connect({ path: '${socket}', allowHalfOpen: true })
  const end = () => { inner.destroy(); outer.destroy() }
  for (const side of [inner, outer]) side.on('error', end)
  inner.pipe(outer).pipe(inner)
}).listen(${proxyPort}, '127.0.0.1', () => require('node:fs').writeSync(1, '\\n'))
`

/**
 * Shell commands that run in the sandbox before the command: start the relay as an orphan, and wait until it listens.
 */
export function relayStart(node: string): string {
  const ready = '/run/ready'
  return [
    `mkfifo ${ready}`,
    `(${shellWord(node)} -e ${shellWord(program)} >${ready} 2>/dev/null </dev/null &)`,
    `read -r started <${ready}`,
    `rm -f ${ready}`,
  ].join('\n')
}
