/** Flags of Node for the processes that tests and benches start: the words of `PROGRAM_FLAGS`. For
 *  a look at where the time goes: `PROGRAM_FLAGS='--cpu-prof --cpu-prof-dir=profiles'`. */
export function programFlags(node: string = process.execPath): string[] {
  // Another Node has other flags.
  if (node !== process.execPath) return []
  return (process.env['PROGRAM_FLAGS'] ?? '').split(' ').filter(flag => flag !== '')
}
