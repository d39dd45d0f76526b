/** True for addresses that only this machine can reach, also as IPv6 writes those of IPv4. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(host)
}
