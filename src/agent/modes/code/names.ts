/** The tool that runs a program in any mode (R188): hosts take no dots in names of tools. */
export const interpreterName = 'interpreter_run'
