import { basename, dirname, extname, join } from 'node:path'
import { withScope } from '../../event/context.ts'
import { item } from '../../event/place.ts'
import { supportFolder } from '../../pack/find-pack.ts'
import { runUid, sessionUid } from '../run-uid.ts'
import type { LuaTable } from './call.ts'
import { type HostModule, pure, type Section, type SectionStage } from './module.ts'
import { aipackBase, temporaryFolder } from './resolve-path.ts'

/** The version of AIPack that packs are written for. */
const aipackVersion = '0.8.34'

const stages: { readonly [stage in SectionStage]: string } = {
  before_all: 'BeforeAll',
  data: 'Data',
  output: 'Output',
  after_all: 'AfterAll',
  chunk: 'Chunk',
}

/**
 * The global table `CTX`: the agent, folders and stage that a script runs in. Each section gets a new one; modules see
 * it too. Unlike in AIPack, `RUN_FLOW_REDO_COUNT` is an integer in every stage. Names of runs and tasks are derived
 * from their place in the run, so that a resumed run has the same ones.
 */
export const ctxModule: HostModule = {
  name: '',
  /**
   * `CTX`
   * A table with the agent, folders and stage that a script runs in, described in [lua.md](lua.md#ctx).
   */
  functions: { CTX: pure(({ section }) => contextTable(section)) },
  lua: { name: 'CTX', text: 'CTX = CTX()' },
}

function contextTable(section: Section): LuaTable {
  const { context, stage, agentFile, agentName } = section
  const { folders, facts, redoCount } = context.scope
  const { workspace, cwd } = folders
  const name = basename(agentFile)
  return {
    PWD: cwd,
    SESSION_UID: sessionUid(context.scope.runId),
    TMP_DIR: temporaryFolder(context),
    AIPACK_VERSION: aipackVersion,
    BATON_VERSION: context.scope.version,
    WORKSPACE_DIR: workspace,
    WORKSPACE_AIPACK_DIR: join(workspace, '.aipack'),
    BASE_AIPACK_DIR: aipackBase(context),
    AGENT_NAME: agentName,
    AGENT_FILE_NAME: name,
    AGENT_FILE_PATH: agentFile,
    AGENT_FILE_DIR: dirname(agentFile),
    AGENT_FILE_STEM: name.slice(0, name.length - extname(name).length),
    RUN_FLOW_REDO_COUNT: redoCount,
    RUN_UID: facts?.runUid ?? runUid(context),
    RUN_NUM: facts?.runNum ?? 1,
    PARENT_RUN_UID: facts?.parentRunUid,
    STAGE: stages[stage],
    ...taskFields(section),
    ...packFields(section),
  }
}

function taskFields({ stage, context }: Section): LuaTable {
  if (stage === 'before_all' || stage === 'after_all') return {}
  const { facts, at } = context.scope
  const task = withScope(context, { at: [...at.slice(0, -1), item('task')] })
  return { TASK_UID: runUid(task), TASK_NUM: facts?.taskNum ?? 1 }
}

function packFields({ pack, context }: Section): LuaTable {
  if (pack === undefined) return {}
  const around = { workspace: context.scope.folders.workspace, aipackBase: aipackBase(context) }
  return {
    PACK_NAMESPACE: pack.namespace,
    PACK_NAME: pack.name,
    PACK_SUB_PATH: pack.subPath,
    PACK_REF: pack.ref,
    PACK_IDENTITY: pack.identity,
    PACK_DIR: pack.dir,
    PACK_WORKSPACE_SUPPORT_DIR: supportFolder(pack, 'workspace', around),
    PACK_BASE_SUPPORT_DIR: supportFolder(pack, 'base', around),
  }
}
