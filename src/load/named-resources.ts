import { type Issue, meantHint, wrongValue } from '../config/issue.ts'
import { placeOrigins } from '../config/layers.ts'
import { leftOutCode, leftOutHint, ownerOf, whyLeftOut } from '../config/left-out-servers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { splitResource } from '../mcp/context-resources.ts'
import { serversFor } from './other-tools.ts'

type ResourceSpec = Pick<RunSpec, 'settings' | 'origins' | 'leftOut' | 'ofPack'>

/** Finds servers in `context_resources` that are unknown or whose file is not trusted, without calling any server. */
export async function resourceIssues(spec: ResourceSpec): Promise<readonly Issue[]> {
  const { settings, origins } = spec
  const { names: servers, leftOut } = serversFor(spec)
  const issues = (settings.context_resources ?? []).map(async (entry, index): Promise<readonly Issue[]> => {
    const name = splitResource(entry)?.server ?? ''
    if (servers.includes(name)) return []
    const untrusted = leftOut.find(({ names }) => names.includes(name))
    if (untrusted !== undefined) {
      const message = `context_resources names the server "${name}" of ${ownerOf(untrusted)}, and ${whyLeftOut(untrusted)}`
      return [{ code: leftOutCode(untrusted), message, hint: leftOutHint(untrusted), place: { file: untrusted.file } }]
    }
    const message = `context_resources[${index}]: there is no MCP server "${name}"`
    const hint = meantHint(
      name,
      servers,
      `Write "SERVER:URI", and name the server in [mcp_servers] of your config file.`,
    )
    return placeOrigins([wrongValue(['context_resources', index], { message, hint })], origins)
  })
  return (await Promise.all(issues)).flat()
}
