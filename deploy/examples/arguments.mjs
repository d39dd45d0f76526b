// The arguments of an example: nothing is asked or written before they are understood.

import { parseArgs } from 'node:util'

/** Options, and the address of the server, which has no default: whoever starts a program that
 *  writes says where. Ends the program with the usage if anything is wrong, or asked for. */
export function argumentsOf(usage, options) {
  const all = { ...options, help: { type: 'boolean', default: false } }
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: all })
    if (values.help) {
      process.stdout.write(`${usage}\n`)
      process.exit()
    }
    for (const [name, { isCount }] of Object.entries(options)) {
      if (isCount && !/^[1-9]\d{0,5}$/.test(values[name])) {
        throw new Error(`--${name} takes a number above 0, not "${values[name]}"`)
      }
    }
    const [address = '', ...others] = positionals
    if (others.length > 0) throw new Error(`one address, not also "${others[0]}"`)
    if (!/^https?:\/\//.test(address)) {
      throw new Error('say the address of the server, such as http://127.0.0.1:8001')
    }
    return { values, server: address.replace(/\/+$/, '') }
  } catch (error) {
    process.stderr.write(`${error.message}\n${usage}\n`)
    return process.exit(2)
  }
}
