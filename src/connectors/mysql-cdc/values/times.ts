/** Dates and times of the binary log, in the forms that the source `mysql` gives them. */
import type { ByteReader } from '../read/byte-reader.ts';

const PAIRS = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, '0'));

function pair(value: number): string {
  return PAIRS[value] ?? String(value);
}

function year(value: number): string {
  return String(value).padStart(4, '0');
}

export function readDate(from: ByteReader): string {
  const value = from.uint(3);
  return `${year(value >>> 9)}-${pair((value >>> 5) & 15)}-${pair(value & 31)}`;
}

const FIRST_YEAR = 1900;

/** The year 0 is one that was not valid. */
export function readYear(from: ByteReader): number {
  const value = from.uint(1);
  return value === 0 ? 0 : FIRST_YEAR + value;
}

/** Two digits of a second take one byte. */
function fractionBytes(digits: number): number {
  return (digits + 1) >> 1;
}

/** The digits are those of an even number of them. */
function fractionText(value: number, digits: number): string {
  if (digits === 0) return '';
  return `.${String(value)
    .padStart(2 * fractionBytes(digits), '0')
    .slice(0, digits)}`;
}

function readHighFirst(from: ByteReader, size: number): number {
  return size === 0 ? 0 : from.take(size).readUIntBE(0, size);
}

/** Seconds since 1970; 0 stands for no instant. */
export function readTimestamp(from: ByteReader, digits: number): string {
  const seconds = readHighFirst(from, 4);
  const fraction = fractionText(readHighFirst(from, fractionBytes(digits)), digits);
  if (seconds === 0) return `0000-00-00T00:00:00${fraction}Z`;
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}${fraction}Z`;
}

/** Half of the values of five bytes are negative, and are not used. */
const DATETIME_ZERO = 0x80_0000_0000;
const MONTHS = 13;

export function readDatetime(from: ByteReader, digits: number): string {
  const value = readHighFirst(from, 5) - DATETIME_ZERO;
  const fraction = fractionText(readHighFirst(from, fractionBytes(digits)), digits);
  return `${datetimeText(value)}${fraction}Z`;
}

/** 17 bits of months, then days, hours, minutes and seconds. */
function datetimeText(value: number): string {
  const days = Math.floor(value / 2 ** 17);
  const time = value % 2 ** 17;
  const months = Math.floor(days / 32);
  const date = `${year(Math.floor(months / MONTHS))}-${pair(months % MONTHS)}-${pair(days % 32)}`;
  return `${date}T${clockText(time)}`;
}

function clockText(time: number): string {
  return `${pair(time >>> 12)}:${pair((time >>> 6) & 63)}:${pair(time & 63)}`;
}

/** A negative time is what is missing to the next power of two. */
export function readTime(from: ByteReader, digits: number): string {
  const size = 3 + fractionBytes(digits);
  const value = readHighFirst(from, size) - 2 ** (8 * size - 1);
  const amount = Math.abs(value);
  const unit = 2 ** (8 * fractionBytes(digits));
  const text = clockText(Math.floor(amount / unit));
  return `${value < 0 ? '-' : ''}${text}${fractionText(amount % unit, digits)}`;
}

const MICROSECONDS = 2n ** 24n;

/** Of eight bytes, as they stand in JSON values. */
export function packedTime(packed: bigint): string {
  const amount = packed < 0n ? -packed : packed;
  const text = clockText(Number(amount / MICROSECONDS));
  return `${packed < 0n ? '-' : ''}${text}${fractionText(Number(amount % MICROSECONDS), 6)}`;
}

export function packedDatetime(packed: bigint): string {
  const text = datetimeText(Number(packed / MICROSECONDS)).replace('T', ' ');
  return `${text}${fractionText(Number(packed % MICROSECONDS), 6)}`;
}

export function packedDate(packed: bigint): string {
  return datetimeText(Number(packed / MICROSECONDS)).slice(0, 10);
}
