import { statSync } from 'node:fs'
import { findProgram } from '../base/program.ts'
import { leftOutHint, leftOutText } from '../config/left-out-servers.ts'
import type { McpServer, McpTransport } from '../event/mcp.ts'
import { serversOf } from '../mcp/server-of.ts'
import { type Check, checksOf, note, ok, type Patient, warn } from './check.ts'
import type { ConfigFound } from './config.ts'

/** Whether MCP servers could be started: programs, folders and variables are there. None is started or asked. */
export function checkServers(
  { env }: Patient,
  { settings, origins, workspace, leftOut }: ConfigFound,
): readonly Check[] {
  const servers = serversOf({ settings, origins, workspace, env })
  return [
    ...servers.flatMap((server) => checkServer(server, env)),
    ...leftOut.map((file) => note('mcp', leftOutText(file), leftOutHint(file))),
  ]
}

function checkServer({ name, origin, transport }: McpServer, env: Patient['env']): readonly Check[] {
  let reached: McpTransport
  try {
    reached = transport()
  } catch (error) {
    return checksOf('mcp', error, 'warn')
  }
  if (reached.kind !== 'stdio') {
    const { host } = new URL(reached.url)
    return [ok('mcp', `${name} is asked at ${host} (${origin}); baton mcp list --check asks it`)]
  }
  const { command, cwd } = reached
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return [warn('mcp', `${name} works in ${cwd}, which is no folder`, `Make the folder, or set cwd in ${origin}.`)]
  }
  const program = command.includes('/') ? fileAt(command) : findProgram(command, env, nowhere)
  if (program === undefined)
    return [warn('mcp', `${name} needs ${command}, which is not found`, `Install it, or set command in ${origin}.`)]
  return [ok('mcp', `${name} is started as ${program} (${origin}); baton mcp list --check starts it`)]
}

/** Programs below the workspace count as well, such as those of a virtual environment: nothing is below this file. */
const nowhere = process.execPath

function fileAt(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : undefined
}
