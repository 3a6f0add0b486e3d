import type { HostModule } from './module.ts'

/**
 * `aip.flow`: marker tables that a stage returns. In Lua, so that what a script
 * puts into them stays what it is; they are checked when the value of the stage is read, not here.
 */
export const flowModule: HostModule = {
  name: 'aip.flow',
  functions: {},
  lua: {
    name: 'aip.flow',
    /**
     * `aip.flow.before_all_response({inputs?, before_all?, options?}) → table`
     * What Before All returns to go on with other inputs or options. It is checked when it is returned, not here.
     */
    /**
     * `aip.flow.data_response({input?, data?, attachments?, options?}) → table`
     * What Data returns to go on with another input, with attachments or with options for this input alone.
     */
    /** `aip.flow.skip(reason?) → table` What Before All returns to skip the agent, or Data to skip this input. */
    /** `aip.flow.redo_run() → table` What Before All or After All returns to have the agent run once more. */
    text: `
local function marker(kind, data) return { _aipack_ = { kind = kind, data = data } } end
aip.flow = {
  before_all_response = function(data) return marker("BeforeAllResponse", data) end,
  data_response = function(data) return marker("DataResponse", data) end,
  skip = function(reason) return marker("Skip", { reason = reason }) end,
  redo_run = function() return marker("Redo") end,
}
`,
  },
}
