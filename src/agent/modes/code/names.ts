/** The tool that runs a program in any mode (R188). Hosts allow no dots in tool names. */
export const interpreterName = 'interpreter_run'
