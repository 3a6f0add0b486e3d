import type { HostModule } from './module.ts'

/**
 * `aip.flow`: marker tables that a stage returns. Written in Lua, so that the values that a script puts into them are
 * kept by reference; they are checked when the stage's value is read, not here.
 */
export const flowModule: HostModule = {
  name: 'aip.flow',
  functions: {},
  lua: {
    name: 'aip.flow',
    /**
     * `aip.flow.before_all_response({inputs?, before_all?, options?}) → table`
     * Returned from Before All to continue with different inputs or options. The table is validated when it is
     * returned, not here.
     */
    /**
     * `aip.flow.data_response({input?, data?, attachments?, options?}) → table`
     * Returned from Data to continue with a different input, with attachments, or with options for this input only.
     */
    /** `aip.flow.skip(reason?) → table` Returned from Before All to skip the agent, or from Data to skip this input. */
    /** `aip.flow.redo_run() → table` Returned from Before All or After All to run the agent again. */
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
