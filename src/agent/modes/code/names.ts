/** The tool that runs a program in any mode. Hosts allow no dots in tool names. */
export const interpreterName = 'interpreter_run'
