import { agentModule } from './agent.ts'
import { fileModule } from './file.ts'
import { flowModule } from './flow.ts'
import { globalsModule } from './globals.ts'
import { jsonModule } from './json.ts'
import { luaModule } from './lua.ts'
import { mdModule } from './md.ts'
import type { HostModule } from './module.ts'
import { osModule } from './os-time.ts'
import { pathModule } from './path.ts'
import { textModule } from './text.ts'

/** All host modules. The globals come last, because they use `aip.lua` and give `aip` its other names. */
export const hostModules: readonly HostModule[] = [
  agentModule,
  fileModule,
  flowModule,
  jsonModule,
  luaModule,
  mdModule,
  osModule,
  pathModule,
  textModule,
  globalsModule,
]
