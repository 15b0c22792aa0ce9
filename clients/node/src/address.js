import { AssayError } from './errors.js'

// The length of a socket's path: sun_path has 108 bytes, one of them the end.
const UNIX_PATH_LIMIT = 107

/** Parses addresses; without any, those of the environment variable ASSAY_ADDRESS. */
export function parseAddresses(texts) {
  if (texts === undefined || texts.length === 0) {
    const value = process.env.ASSAY_ADDRESS
    if (!value) throw bad('no address: name one, or set the environment variable ASSAY_ADDRESS')
    texts = value.split(',').map((text) => text.trim())
  }
  return (typeof texts === 'string' ? [texts] : texts).map(parse)
}

function bad(problem) {
  return new AssayError('address', problem)
}

function parse(text) {
  const refuse = (problem) =>
    bad(`"${text}" ${problem}; write tcp://HOST:PORT, tls://HOST:PORT or unix:PATH`)
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length)
    if (path === '' || path === '@' || path.includes('\0')) throw refuse('has no path')
    if (Buffer.byteLength(path) > UNIX_PATH_LIMIT) {
      throw refuse(`has a path of more than ${UNIX_PATH_LIMIT} bytes`)
    }
    return { text, path: path.startsWith('@') ? '\0' + path.slice(1) : path }
  }
  const scheme = /^(tcp|tls):\/\/(.*)$/s.exec(text)
  if (!scheme) throw refuse('has no known scheme')
  const parts = /^(?:\[([0-9A-Fa-f:.%]+)\]|([^:/\s[\]]+)):([0-9]{1,5})$/.exec(scheme[2])
  if (!parts) throw refuse('has no host and port')
  const port = Number(parts[3])
  if (port < 1 || port > 65535) throw refuse('has no port from 1 to 65535')
  return { text, host: parts[1] ?? parts[2], port, tls: scheme[1] === 'tls' }
}
