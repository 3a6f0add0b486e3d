import { agentModule } from './agent.ts'
import { cmdModule } from './cmd.ts'
import { codeModule, rustModule } from './code.ts'
import { csvModule } from './csv.ts'
import { ctxModule } from './ctx.ts'
import { tomlModule, yamlModule } from './data.ts'
import { editorModule } from './editor.ts'
import { fileModule } from './file.ts'
import { flowModule } from './flow.ts'
import { gitModule } from './git.ts'
import { globalsModule } from './globals.ts'
import { hashModule } from './hash.ts'
import { hbsModule } from './hbs.ts'
import { htmlModule } from './html.ts'
import { jsonModule } from './json.ts'
import { luaModule } from './lua.ts'
import { mcpModule } from './mcp.ts'
import { mdModule } from './md.ts'
import type { HostModule } from './module.ts'
import { osModule, timeModule } from './time.ts'
import { pathModule } from './path.ts'
import { pdfModule } from './pdf.ts'
import { runModule, taskModule } from './pins.ts'
import { requireModule } from './require.ts'
import { semverModule } from './semver.ts'
import { shapeModule } from './shape.ts'
import { tagModule } from './tag.ts'
import { textModule } from './text.ts'
import { udiffxModule } from './udiffx.ts'
import { uuidModule } from './uuid.ts'
import { webModule } from './web.ts'
import { zipModule } from './zip.ts'

/** All host modules. The globals are last, because they use `aip.lua` and define the aliases of `aip`. */
export const hostModules: readonly HostModule[] = [
  ctxModule,
  requireModule,
  agentModule,
  cmdModule,
  codeModule,
  csvModule,
  editorModule,
  fileModule,
  flowModule,
  gitModule,
  hashModule,
  hbsModule,
  htmlModule,
  jsonModule,
  luaModule,
  mcpModule,
  mdModule,
  osModule,
  pathModule,
  pdfModule,
  runModule,
  rustModule,
  semverModule,
  shapeModule,
  tagModule,
  taskModule,
  textModule,
  timeModule,
  tomlModule,
  udiffxModule,
  uuidModule,
  webModule,
  yamlModule,
  zipModule,
  globalsModule,
]
