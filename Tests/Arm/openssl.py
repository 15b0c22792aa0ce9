"""ECDSA and products of points by OpenSSL's libcrypto."""
import ctypes
import ctypes.util

LIBRARY = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
POINTER = ctypes.c_void_p
NUMBERS = {"P-256": 415, "P-384": 715}  # NID_X9_62_prime256v1, NID_secp384r1


def function(name, *arguments, result=POINTER):
    found = getattr(LIBRARY, name)
    found.argtypes, found.restype = arguments, result
    return found


INT = ctypes.c_int
version = function("OpenSSL_version", INT, result=ctypes.c_char_p)
new_number = function("BN_bin2bn", ctypes.c_char_p, INT, POINTER)
write_number = function("BN_bn2binpad", POINTER, ctypes.c_char_p, INT, result=INT)
free_number = function("BN_free", POINTER, result=None)
new_key = function("EC_KEY_new_by_curve_name", INT)
group_of = function("EC_KEY_get0_group", POINTER)
new_point = function("EC_POINT_new", POINTER)
free_point = function("EC_POINT_free", POINTER, result=None)
multiply = function(
    "EC_POINT_mul", POINTER, POINTER, POINTER, POINTER, POINTER, POINTER, result=INT)
coordinates = function(
    "EC_POINT_get_affine_coordinates", POINTER, POINTER, POINTER, POINTER, POINTER, result=INT)
set_private = function("EC_KEY_set_private_key", POINTER, POINTER, result=INT)
set_public = function("EC_KEY_set_public_key", POINTER, POINTER, result=INT)
sign = function("ECDSA_do_sign", ctypes.c_char_p, INT, POINTER)
do_verify = function("ECDSA_do_verify", ctypes.c_char_p, INT, POINTER, POINTER, result=INT)
new_signature = function("ECDSA_SIG_new")
free_signature = function("ECDSA_SIG_free", POINTER, result=None)
r_of = function("ECDSA_SIG_get0_r", POINTER)
s_of = function("ECDSA_SIG_get0_s", POINTER)
set_numbers = function("ECDSA_SIG_set0", POINTER, POINTER, POINTER, result=INT)


def big(number, size=48):
    return new_number(number.to_bytes(size, "big"), size, None)


def value(number, size=48):
    octets = ctypes.create_string_buffer(size)
    if write_number(number, octets, size) != size:
        raise ValueError("a number of OpenSSL's does not fit")
    return int.from_bytes(octets.raw, "big")


def expect(holds):
    if not holds:
        raise ValueError("OpenSSL refuses a call")


class Key:
    """A private key and its point."""

    def __init__(self, curve, private):
        self.key = new_key(NUMBERS[curve])
        self.group = group_of(self.key)
        scalar, point, x, y = big(private), new_point(self.group), big(0), big(0)
        expect(multiply(self.group, point, scalar, None, None, None) == 1)
        expect(coordinates(self.group, point, x, y, None) == 1)
        expect(set_private(self.key, scalar) == 1 and set_public(self.key, point) == 1)
        self.point = value(x), value(y)
        for number in (scalar, x, y):
            free_number(number)
        free_point(point)

    def sign(self, digest):
        signature = sign(digest, len(digest), self.key)
        found = value(r_of(signature)), value(s_of(signature))
        free_signature(signature)
        return found

    def verifies(self, digest, r, s):
        signature = new_signature()
        expect(set_numbers(signature, big(r), big(s)) == 1)
        holds = do_verify(digest, len(digest), signature, self.key)
        free_signature(signature)
        return holds == 1
