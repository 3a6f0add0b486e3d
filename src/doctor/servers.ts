import { statSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../base/program.ts'
import { issueText } from '../settings/issue.ts'
import { unusedServerHint, unusedServersText } from '../config/unused-servers.ts'
import type { McpServer, McpTransport } from '../event/mcp.ts'
import { fullName } from '../mcp/names.ts'
import { serversOf } from '../mcp/server-of.ts'
import { packRoots } from '../pack/find-pack.ts'
import { readAllPackServers, withoutNamed } from '../pack/pack-servers.ts'
import { type Check, checksOf, note, ok, type DoctorInput, warn } from './check.ts'
import type { ConfigFound } from './config.ts'

/**
 * Whether MCP servers could be started, including those of packs: programs, folders and variables exist. None is
 * started or contacted.
 */
export async function checkServers(input: DoctorInput, config: ConfigFound): Promise<readonly Check[]> {
  const { env } = input
  const { settings, origins, workspace } = config
  const problems: Check[] = []
  const found = await readAllPackServers(packRoots(workspace, input), input, (error) => {
    problems.push(...checksOf('mcp', error, 'warn'))
  })
  const packs = found.map((pack) => ({ ...withoutNamed(pack, settings), notes: pack.notes }))
  const servers = [
    ...serversOf({ settings, origins, workspace, env }),
    ...packs.flatMap((pack) => {
      return serversOf({ settings: { mcp_servers: pack.tables }, origins: pack.origins, workspace, env, pack })
    }),
  ]
  const leftOut = [...config.leftOut, ...packs.flatMap((pack) => pack.leftOut)]
  return [
    ...servers.flatMap((server) => checkServer(server, env)),
    ...leftOut.map((file) => note('mcp', unusedServersText(file), unusedServerHint(file))),
    ...packs.flatMap(({ identity, notes }) =>
      notes.map((issue) => warn('mcp', `${identity}: ${issueText(issue)}`, issue.hint ?? '')),
    ),
    ...problems,
  ]
}

function checkServer(server: McpServer, env: DoctorInput['env']): readonly Check[] {
  const { origin, transport } = server
  const name = fullName(server)
  let reached: McpTransport
  try {
    reached = transport()
  } catch (error) {
    return checksOf('mcp', error, 'warn')
  }
  if (reached.kind !== 'stdio') {
    const { host } = new URL(reached.url)
    return [ok('mcp', `${name} is at ${host} (${origin}); baton mcp list --check contacts it`)]
  }
  const { command, cwd } = reached
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return [
      warn('mcp', `${name} works in ${cwd}, which is not a folder`, `Create the folder, or set cwd in ${origin}.`),
    ]
  }
  const program = command.includes('/') ? fileAt(command) : findProgram(command, env, nowhere)
  if (program === undefined)
    return [warn('mcp', `${name} needs ${command}, which is not found`, `Install it, or set command in ${origin}.`)]
  return [ok('mcp', `${name} is started as ${program} (${origin}); baton mcp list --check starts it`)]
}

/**
 * An impossible workspace, so that programs below the workspace count as well, such as those of a virtual environment:
 * nothing is below a file, and unlike other files node itself may be named.
 */
const nowhere = join(process.execPath, 'nothing')

function fileAt(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : undefined
}
